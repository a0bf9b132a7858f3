import { describe, expect, it } from "vitest";
import type { Host, Offer } from "../src/api/types.ts";
import { hostGroups } from "../src/lib/host_groups.ts";

const host = (name: string, provider: string, status: string): Host => ({
  host: name,
  provider,
  status,
  generation: 0,
  score_ppm: null,
  leases: 0,
  earned: "0",
  slashed: "0",
  registered_ms: 0,
  changed_ms: 0,
});
const offer = (name: string, model: string | null, region: string, gpus: number, free: number): Offer =>
  ({ host: name, model, region, gpus, gpus_free: free }) as Offer;

const HOSTS = [host("a", "me", "Online"), host("b", "me", "Draining"), host("c", "other", "Suspended(ByRoot)")];
const OFFERS = [offer("a", "H100", "eu", 2, 1), offer("a", "T4", "eu", 1, 1), offer("b", null, "", 0, 0)];

describe("groups of hosts", () => {
  it("counts the GPUs of a model only in the group of the model", () => {
    const groups = hostGroups(HOSTS, OFFERS, "model", "me");
    expect(groups.map((one) => [one.name, one.hosts.length, one.gpus, one.gpusFree])).toEqual([
      ["H100", 1, 2, 1],
      ["T4", 1, 1, 1],
      ["no GPU", 1, 0, 0],
      ["not in the index yet", 1, 0, 0],
    ]);
  });
  it("names regions, and counts a host with two models once", () => {
    const groups = hostGroups(HOSTS, OFFERS, "region", "me");
    expect(groups.map((one) => [one.name, one.hosts.length, one.gpus])).toEqual([
      ["eu", 1, 3],
      ["not given", 1, 0],
      ["not in the index yet", 1, 0],
    ]);
  });
  it("offers only what the account itself can drain", () => {
    const [mine, others] = hostGroups(HOSTS, OFFERS, "provider", "me");
    expect([mine?.drainable, mine?.undrainable]).toEqual([["a"], ["b"]]);
    expect([others?.drainable, others?.undrainable]).toEqual([[], []]);
    expect(hostGroups(HOSTS, OFFERS, "provider", null).every((one) => one.drainable.length === 0)).toBe(true);
  });
  it("leaves the reason of a status out", () => {
    expect(hostGroups(HOSTS, OFFERS, "status", null).map((one) => one.name)).toEqual([
      "Draining",
      "Online",
      "Suspended",
    ]);
  });
});
