/** What the API answers about an account: its webhooks, and its coins by lease. */

export interface ListedWebhook {
  id: string;
  url: string;
  topics: string[];
  created_ms: number;
  waiting: number;
  failed_attempts: number;
  failure: string | null;
  next_attempt_ms: number | null;
  test: boolean;
}

export interface WebhookList {
  webhooks: ListedWebhook[];
}

export interface NewWebhook {
  id: string;
  url: string;
  secret: string;
}

export interface Escrow {
  lease: string;
  task: number;
  pod: number;
  host: string;
  state: string;
  reason: string | null;
  rate_per_hour: string;
  deposited: string;
  paid: string;
  held: string;
}
