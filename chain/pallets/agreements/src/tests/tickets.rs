//! Support tickets.

use frame_support::{assert_noop, assert_ok};

use crate::{mock::*, *};

fn opened() -> TicketId {
    assert_ok!(Agreements::open_ticket(signed(TENANT), LEASE, [1; 32]));
    last_ticket()
}

fn responses() -> Vec<bool> {
    world(|state| state.responses.iter().map(|(_, in_time)| *in_time).collect())
}

#[test]
fn only_the_tenant_of_a_live_lease_opens_tickets() {
    run(|| {
        assert_noop!(Agreements::open_ticket(signed(PROVIDER), LEASE, [1; 32]), Error::<Test>::NotParty);
        assert_noop!(Agreements::open_ticket(signed(TENANT), LEASE + 100, [1; 32]), Error::<Test>::NoSuchLease);
        opened();
        assert_eq!(held(TENANT, HoldReason::TicketDeposit), GTY / 10);
    });
}

#[test]
fn an_answer_in_time_is_evidence_for_the_host_once() {
    run(|| {
        let ticket = opened();
        assert_noop!(Agreements::answer_ticket(signed(ANYONE), ticket, [2; 32]), Error::<Test>::NotParty);
        assert_ok!(Agreements::answer_ticket(signed(TENANT), ticket, [2; 32]));
        assert!(responses().is_empty());
        for _ in 0..3 {
            assert_ok!(Agreements::answer_ticket(signed(PROVIDER), ticket, [3; 32]));
        }
        assert_eq!(responses(), [true]);
        let record = Tickets::<Test>::get(ticket).expect("it is kept");
        assert_eq!((record.messages.len(), record.in_time), (5, Some(true)));
    });
}

#[test]
fn no_answer_in_time_is_evidence_against_the_host_and_a_later_one_does_not_change_it() {
    run(|| {
        let ticket = opened();
        wait_past(HOUR);
        assert_eq!(responses(), [false]);
        assert_ok!(Agreements::answer_ticket(signed(PROVIDER), ticket, [3; 32]));
        assert_eq!(responses(), [false]);
    });
}

#[test]
fn a_ticket_that_its_tenant_closes_before_the_time_is_no_evidence() {
    run(|| {
        let ticket = opened();
        assert_ok!(Agreements::close_ticket(signed(TENANT), ticket));
        assert_noop!(Agreements::answer_ticket(signed(PROVIDER), ticket, [3; 32]), Error::<Test>::TicketIsClosed);
        wait_past(HOUR);
        assert!(responses().is_empty());
    });
}

#[test]
fn many_tickets_of_one_lease_are_one_piece_of_evidence() {
    run(|| {
        for _ in 0..MAX_TICKETS_PER_LEASE {
            opened();
        }
        assert_noop!(Agreements::open_ticket(signed(TENANT), LEASE, [1; 32]), Error::<Test>::TooManyTickets);
        wait_past(HOUR);
        assert_eq!(responses(), [false]);
    });
}

#[test]
fn tickets_of_a_provider_on_its_own_host_are_no_evidence() {
    run(|| {
        assert_ok!(Agreements::open_ticket(signed(PROVIDER), 78, [1; 32]));
        assert_ok!(Agreements::answer_ticket(signed(PROVIDER), last_ticket(), [1; 32]));
        wait_past(HOUR);
        assert!(responses().is_empty());
    });
}

#[test]
fn a_ticket_has_a_bounded_number_of_messages() {
    run(|| {
        let ticket = opened();
        for _ in 1..MAX_MESSAGES {
            assert_ok!(Agreements::answer_ticket(signed(TENANT), ticket, [2; 32]));
        }
        let more = Agreements::answer_ticket(signed(TENANT), ticket, [2; 32]);
        assert_eq!(more, Err(Error::<Test>::TooManyMessages.into()));
    });
}

#[test]
fn the_chain_forgets_tickets_and_returns_their_deposits() {
    run(|| {
        let (first, second) = (opened(), opened());
        assert_ok!(Agreements::close_ticket(signed(PROVIDER), first));
        assert_eq!(responses(), [true], "that the provider closes it is its response");
        wait_past(HOUR);
        wait_past(5 * HOUR);
        assert!(!Tickets::<Test>::contains_key(first) && !Tickets::<Test>::contains_key(second));
        assert_eq!((held(TENANT, HoldReason::TicketDeposit), TicketsOf::<Test>::iter().count()), (0, 0));
        assert_eq!(Agenda::<Test>::iter().count(), 0);
    });
}
