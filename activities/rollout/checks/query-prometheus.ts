import { Agent, request } from 'undici';
import { queryUrl } from './addresses.ts';

/** How long a Prometheus may take to answer. */
const DEADLINE_MS = 10_000;
/** How much of an answer is read at most: an answer with one value is short. */
const MOST_BYTES = 256 * 1024;

/** What the Secret of a check may hold. */
export interface Credentials {
  token?: string | undefined;
  ca?: string | undefined;
  cert?: string | undefined;
  key?: string | undefined;
}

export interface PrometheusQuery extends Credentials {
  address: string;
  query: string;
  signal: AbortSignal;
}

/** What the API of Prometheus has answered: its HTTP status and its body. */
export interface Answer {
  status: number;
  body: string;
}

/**
 * Asks a Prometheus for the present value of an expression. Follows no redirection, which could lead anywhere. Throws
 * if no answer comes in time.
 */
export async function queryPrometheus({
  address,
  query,
  token,
  ca,
  cert,
  key,
  signal,
}: PrometheusQuery): Promise<Answer> {
  const dispatcher = new Agent({
    connect: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }), timeout: DEADLINE_MS },
    maxResponseSize: MOST_BYTES,
  });
  try {
    const { statusCode, body } = await request(queryUrl(address), {
      method: 'POST',
      dispatcher,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        ...(token && { authorization: `Bearer ${token}` }),
      },
      body: new URLSearchParams({ query, timeout: `${DEADLINE_MS / 1000}s` }).toString(),
      signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
    });
    return { status: statusCode, body: await body.text() };
  } finally {
    await dispatcher.destroy();
  }
}
