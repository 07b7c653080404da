import { Agent, ProxyAgent, type Dispatcher } from 'undici';
import type { Receiver } from '../../api/notifications/receivers.ts';
import { proxyFor } from '../../kubernetes/proxy.ts';
import type { Parcel } from './cloud-event.ts';

/** How long a receiver may take to answer, from the first try to connect until the end of its answer. */
const DEADLINE_MS = 10_000;
/** Of an answer nothing is kept; a longer one ends the connection. */
const ANSWER_LENGTH = 64 * 1024;
/** A longer wait is not kept: what is told must not be a day late because of one answer. */
const MAX_RETRY_AFTER_MS = 30 * 60_000;

/** The result for a parcel: the answer is not kept, since it may come from anyone. */
export type Posted =
  | { outcome: 'Taken' }
  /** This content is refused, and would be again. */
  | { outcome: 'Refused'; message: string }
  /** `retryAfterMs`: how long the receiver asks to wait, in milliseconds. */
  | { outcome: 'Failed'; message: string; retryAfterMs?: number };

/** Sends a parcel to a receiver. Never throws for what the receiver does. */
export type Post = (receiver: Receiver, parcel: Parcel) => Promise<Posted>;

/** What says of the content, and not of the moment, the address or the rights, that it is not taken. */
const OF_CONTENT = new Set([400, 413, 422]);

/** Sends by HTTP. Redirects are not followed: the operator has chosen the address. */
export const postByHttp =
  (deadlineMs = DEADLINE_MS): Post =>
  async ({ url, ca }, { headers, body }) => {
    const address = new URL(url);
    // Its path may be secret.
    const { origin } = address;
    const dispatcher = dispatcherFor(address, ca, deadlineMs);
    try {
      const answer = await dispatcher.request({
        origin,
        path: address.pathname + address.search,
        method: 'POST',
        headers,
        body,
        // The timeouts of the client begin anew with each byte.
        signal: AbortSignal.timeout(deadlineMs),
      });
      await answer.body.dump({ limit: ANSWER_LENGTH }).catch(() => {});
      return postedBy(answer, origin);
    } catch (error) {
      const { message, code, name } = error as Error & { code?: string };
      const answer = name === 'TimeoutError' ? `it takes longer than ${deadlineMs / 1_000} s` : message || code;
      return { outcome: 'Failed', message: `${origin} does not answer: ${answer || 'no answer'}` };
    } finally {
      await dispatcher.destroy();
    }
  };

function postedBy({ statusCode, headers }: Dispatcher.ResponseData, origin: string): Posted {
  if (statusCode >= 200 && statusCode < 300) return { outcome: 'Taken' };
  const answer = `${origin} answers ${statusCode}`;
  if (OF_CONTENT.has(statusCode)) return { outcome: 'Refused', message: answer };
  if (statusCode >= 300 && statusCode < 400)
    return { outcome: 'Failed', message: `${answer}: redirects are not followed, give the address that it leads to` };
  const after = headers['retry-after'];
  const retryAfterMs = waitOf(Array.isArray(after) ? after[0] : after, Date.now());
  return { outcome: 'Failed', message: answer, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

/** Reads `Retry-After`, seconds or a date, in milliseconds. */
function waitOf(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

function dispatcherFor(address: URL, ca: string | undefined, deadlineMs: number): Dispatcher {
  const tls = { timeout: deadlineMs, ...(ca === undefined ? {} : { ca }) };
  const proxy = proxyFor(address, process.env);
  return proxy === undefined ? new Agent({ connect: tls }) : new ProxyAgent({ uri: proxy, requestTls: tls });
}
