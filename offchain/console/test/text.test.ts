import { describe, expect, it } from "vitest";
import { shortAddress } from "../src/lib/address.ts";
import { eventText, valueText } from "../src/lib/event_text.ts";
import { isFinal, leasePhrase, reasonText, taskPhrase } from "../src/lib/states.ts";

describe("phrases", () => {
  it("tells states with their reasons, never as an enum", () => {
    expect(taskPhrase("Failed(AttemptsExhausted)").text).toBe("failed: all attempts on hosts failed");
    expect(leasePhrase("Ended", "HostRefused(ImageUnavailable)").text).toBe(
      "ended: the host could not run it: the image could not be pulled",
    );
    expect(reasonText("SomethingNew(OfLater)")).toBe("something new: of later");
  });

  it("knows which states are final", () => {
    expect(["Settled", "Expired", "Cancelled", "Failed(NoAgreement)"].every(isFinal)).toBe(true);
    expect(["Queued", "Running", "Reported", "Disputed"].some(isFinal)).toBe(false);
  });
});

describe("events", () => {
  const event = (name: string, fields: Record<string, unknown>, error: string | null = null, pallet = "Tasks") =>
    eventText({ pallet, name, fields, error });

  it("are sentences", () => {
    expect(event("Submitted", { count: 1 })).toBe("Submitted");
    expect(event("Submitted", { count: 4 })).toBe("Submitted with 3 more tasks");
    expect(event("PodReported", { result: { exit_code: 3 } })).toBe("A pod ended with exit code 3");
    expect(event("Requeued", { reason: { HostRefused: "DriverError" } })).toBe(
      "Queued again: the host could not run it: an error of the host's container engine",
    );
  });

  it("of later runtimes have their name, and errors theirs", () => {
    expect(event("SomethingHappened", {}, "NoSuchTask", "Future")).toBe("Something happened (error NoSuchTask)");
  });

  it("with fields that are missing or odd do not fail", () => {
    for (const name of ["Assigned", "PodReported", "Settled", "Rated", "LeaseMoved"])
      expect(event(name, {})).toBeTruthy();
    expect(event("Extended", { amount: "no number" }, null, "Leases")).toContain("no number");
  });
});

it("writes values as the chain's names", () => {
  expect(valueText({ HostRefused: "DriverError" })).toBe("HostRefused(DriverError)");
  expect(valueText([1, "a", null])).toBe("1, a, none");
});

it("shortens addresses only", () => {
  expect(shortAddress("5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY")).toBe("5Grwva…GKutQY");
  expect(shortAddress("short")).toBe("short");
});
