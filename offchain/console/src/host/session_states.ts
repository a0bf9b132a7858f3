/** The states of a session of the multiplexer, and what leads from one to another (session_states.py). */

export type SessionState = "ASKED" | "OPEN" | "ENDED_HERE" | "ENDED_THERE" | "CLOSED";
export type SessionMove =
  "ACCEPT" | "REFUSE" | "DATA_HERE" | "DATA_THERE" | "END_HERE" | "END_THERE" | "CREDIT" | "RESET";

/** State -> move -> next state. A move that is missing is not allowed. */
export const TABLE: Readonly<Partial<Record<SessionState, Readonly<Partial<Record<SessionMove, SessionState>>>>>> = {
  ASKED: { ACCEPT: "OPEN", REFUSE: "CLOSED", CREDIT: "ASKED", RESET: "CLOSED" },
  OPEN: {
    DATA_HERE: "OPEN",
    DATA_THERE: "OPEN",
    END_HERE: "ENDED_HERE",
    END_THERE: "ENDED_THERE",
    CREDIT: "OPEN",
    RESET: "CLOSED",
  },
  ENDED_HERE: { DATA_THERE: "ENDED_HERE", END_THERE: "CLOSED", CREDIT: "ENDED_HERE", RESET: "CLOSED" },
  ENDED_THERE: { DATA_HERE: "ENDED_THERE", END_HERE: "CLOSED", CREDIT: "ENDED_THERE", RESET: "CLOSED" },
};
