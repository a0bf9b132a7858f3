import { describe, expect, it } from "vitest";
import { eventText } from "../src/lib/event_text.ts";
import {
  filterText,
  matterPhrase,
  outcomesOf,
  percent,
  phasesOf,
  schedulerPhrase,
  scorePartName,
  voteText,
} from "../src/lib/matters.ts";

describe("challenges and disputes", () => {
  it("are told by their phase while they are open, then by their outcome", () => {
    expect(matterPhrase("challenge", "Answering").text).toBe("waiting for the host's answer");
    expect(matterPhrase("challenge", "Closed", "Failed").tone).toBe("bad");
    expect(matterPhrase("dispute", "Decided").text).toContain("can be appealed");
    expect(matterPhrase("dispute", "Closed", "Rejected").text).toBe("rejected: the results stand");
  });

  it("of later runtimes have their names in words", () => {
    expect(matterPhrase("challenge", "NewPhase").text).toBe("new phase");
    expect(matterPhrase("dispute", "Closed", "SomethingElse").text).toBe("something else");
    expect(schedulerPhrase("Resting").text).toBe("resting");
    expect(scorePartName("new_part")).toBe("new_part");
  });

  it("have a phrase for each value of a filter", () => {
    for (const kind of ["challenge", "dispute"] as const)
      for (const name of [...phasesOf(kind), ...outcomesOf(kind)]) expect(filterText(kind, name)).toBeTruthy();
    expect(filterText("dispute", "Closed")).toBe("closed");
    expect(matterPhrase("challenge", "Passed").text).toContain("passed");
    expect(matterPhrase("dispute", "Hearing").text).toContain("hearing");
  });

  it("have votes that answer their question", () => {
    expect(voteText("challenge", "No")).toContain("not what is said");
    expect(voteText("dispute", "Yes")).toContain("the complaint is right");
  });

  it("have events as sentences", () => {
    const event = (name: string, fields: Record<string, unknown>) =>
      eventText({ pallet: "Verification", name, fields, error: null });
    const matter = { Dispute: 7 };
    expect(event("BallotClosed", { matter, verdict: null })).toBe("The jury came to no verdict");
    expect(event("BallotClosed", { matter: { Challenge: 7 }, verdict: "No" })).toBe("The committee decided no");
    expect(event("CommitteeDrawn", { matter, members: ["a", "b", "c"] })).toBe("The jury was drawn, with 3 members");
    expect(event("ChallengeClosed", { challenge: 4, outcome: "NotAnswered" })).toBe("Challenge 4 closed: not answered");
    expect(event("DisputeDecided", { verdict: "No" })).toBe("The jury decided that the complaint is wrong");
    for (const name of ["CommitteeDrawn", "VoteRevealed", "VerifierPenalised", "Appealed", "ChallengeOpened"])
      expect(event(name, {})).toBeTruthy();
  });
});

it("writes parts per million as a percentage", () => {
  expect(percent(812_345)).toBe("81.2 %");
});
