/** What the API answers about the market; compared with the OpenAPI document like types.ts. */

export interface Market {
  model: string | null;
  simulated: boolean;
  hosts: number;
  gpus: number;
  gpus_free: number;
  lowest_price: string;
  lowest_free_price: string | null;
  median_price: string;
}

export interface PricePoint {
  begin_ms: number;
  lowest_price: string;
  median_price: string;
  paid_price: string | null;
  gpus: number;
  gpus_free: number;
}

export interface PriceHistory {
  model: string;
  simulated: boolean;
  period_ms: number;
  points: PricePoint[];
}
