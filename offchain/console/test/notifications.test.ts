import { describe, expect, it } from "vitest";
import { topicText, waitingText } from "../src/lib/notification_topics.ts";

describe("webhooks", () => {
  it("say what waits, and why it was not delivered", () => {
    const idle = { waiting: 0, failed_attempts: 0, failure: null };
    expect(waitingText(idle)).toBe("nothing waits");
    expect(waitingText({ ...idle, waiting: 1 })).toBe("1 notice waits");
    expect(waitingText({ waiting: 1, failed_attempts: 1, failure: "the receiver answered with status 500" })).toBe(
      "1 notice waits; 1 attempt failed: the receiver answered with status 500",
    );
    expect(waitingText({ waiting: 3, failed_attempts: 2, failure: null })).toBe("3 notices wait; 2 attempts failed");
  });

  it("name the topics of a newer gateway as well", () => {
    expect(topicText("lease_ended")).toBe("a lease has ended");
    expect(topicText("moon_rises")).toBe("moon rises");
  });
});
