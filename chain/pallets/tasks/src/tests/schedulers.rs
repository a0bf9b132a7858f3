//! Bonding and unbonding of schedulers.

use frame_support::{assert_noop, assert_ok};

use crate::{mock::*, Error, Event, LeavingScheduler, LeavingSchedulers, QueueDigests, Schedulers};

#[test]
fn a_scheduler_gets_its_bond_back_once_its_unbonding_period_is_over() {
    on_chain(|| {
        let who = account(ANYONE);
        let before = total_balance(&who);
        assert_noop!(Tasks::unbond_scheduler(signed(ANYONE)), Error::<Test>::NotScheduler);
        assert_ok!(Tasks::bond_scheduler(signed(ANYONE)));
        assert_eq!(Tasks::scheduler_bond_held(&who), SCHEDULER_BOND);
        assert_noop!(Tasks::bond_scheduler(signed(ANYONE)), Error::<Test>::AlreadyScheduler);
        task_events();
        assert_ok!(Tasks::unbond_scheduler(signed(ANYONE)));
        let until = Hosts::now() + SCHEDULER_UNBONDING;
        assert_eq!(task_events(), [Event::SchedulerLeaving { who: who.clone(), until }]);
        let leaving = LeavingScheduler { bond: SCHEDULER_BOND, until };
        assert_eq!(LeavingSchedulers::<Test>::get(&who), Some(leaving));
        work(SCHEDULER_UNBONDING - 1);
        assert_noop!(Tasks::unbond_scheduler(signed(ANYONE)), Error::<Test>::StillUnbonding);
        assert_eq!(Tasks::scheduler_bond_held(&who), SCHEDULER_BOND);
        work(1);
        task_events();
        assert_ok!(Tasks::unbond_scheduler(signed(ANYONE)));
        assert_eq!(task_events(), [Event::SchedulerUnbonded { who: who.clone() }]);
        assert_eq!((Tasks::scheduler_bond_held(&who), total_balance(&who)), (0, before));
        assert_noop!(Tasks::unbond_scheduler(signed(ANYONE)), Error::<Test>::NotScheduler);
        assert_noop!(Tasks::bond_scheduler(signed(NOBODY)), Error::<Test>::SchedulerCannotPay);
    });
}

#[test]
fn a_scheduler_publishes_the_digest_of_its_queues_until_it_leaves() {
    on_chain(|| {
        let who = account(SCHEDULER);
        assert_noop!(Tasks::publish_queues(signed(ANYONE), Some([1; 32])), Error::<Test>::NotScheduler);
        task_events();
        for digest in [Some([1; 32]), None, Some([2; 32])] {
            assert_ok!(Tasks::publish_queues(signed(SCHEDULER), digest));
            assert_eq!(QueueDigests::<Test>::get(&who), digest);
            assert_eq!(task_events(), [Event::QueuesPublished { who: who.clone(), digest }]);
        }
        assert_ok!(Tasks::unbond_scheduler(signed(SCHEDULER)));
        assert_eq!(QueueDigests::<Test>::get(&who), None);
    });
}

#[test]
fn a_scheduler_that_has_left_assigns_nothing_of_others() {
    on_chain(|| {
        online_host(10);
        let task = submit(spec());
        assert_ok!(Tasks::unbond_scheduler(signed(SCHEDULER)));
        let pods = || placed(vec![place(0, 10, &[0])]);
        assert_noop!(try_assign(signed(SCHEDULER), task, pods()), Error::<Test>::NotSchedulerOrTenant);
        let batch = vec![(task, pods())].try_into().expect("one fits");
        assert_noop!(Tasks::assign_batch(signed(SCHEDULER), batch), Error::<Test>::NotScheduler);
    });
}

#[test]
fn a_scheduler_that_leaves_may_stay_and_pays_what_its_bond_lacks() {
    on_chain(|| {
        let who = account(SCHEDULER);
        assert_ok!(Tasks::unbond_scheduler(signed(SCHEDULER)));
        let mut params = crate::CurrentParams::<Test>::get();
        params.scheduler_bond = SCHEDULER_BOND + GTY;
        assert_ok!(Tasks::set_params(RuntimeOrigin::root(), params));
        assert_ok!(Tasks::bond_scheduler(signed(SCHEDULER)));
        assert_eq!(LeavingSchedulers::<Test>::get(&who), None);
        assert_eq!(Schedulers::<Test>::get(&who), Some(SCHEDULER_BOND + GTY));
        assert_eq!(Tasks::scheduler_bond_held(&who), SCHEDULER_BOND + GTY);
        // It leaves anew: its period begins again.
        work(SCHEDULER_UNBONDING);
        assert_ok!(Tasks::unbond_scheduler(signed(SCHEDULER)));
        assert_noop!(Tasks::unbond_scheduler(signed(SCHEDULER)), Error::<Test>::StillUnbonding);
    });
}

#[test]
fn a_bond_that_is_higher_than_asked_by_now_stays_held() {
    on_chain(|| {
        assert_ok!(Tasks::unbond_scheduler(signed(SCHEDULER)));
        let mut params = crate::CurrentParams::<Test>::get();
        params.scheduler_bond = 1;
        assert_ok!(Tasks::set_params(RuntimeOrigin::root(), params));
        assert_ok!(Tasks::bond_scheduler(signed(SCHEDULER)));
        assert_eq!(Schedulers::<Test>::get(account(SCHEDULER)), Some(SCHEDULER_BOND));
    });
}
