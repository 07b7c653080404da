import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadClientConnectConfig } from '@temporalio/envconfig';

/** How often the files of certificates, keys and Temporal's configuration are read again. */
const EVERY_MS = 30_000;

export interface Renewal {
  signal: AbortSignal;
  everyMs?: number;
  /** Reads what a worker connects to Temporal with. */
  read?: () => unknown;
}

/**
 * Ends when what this worker would connect to Temporal with is another than at its start, as after a certificate was
 * renewed in its file. What was read twice alike counts: a certificate and its key may be two writes. A file that can't
 * be read just now is read again.
 */
export async function untilRenewed({
  signal,
  everyMs = EVERY_MS,
  read = () => loadClientConnectConfig(),
}: Renewal): Promise<void> {
  const first = digestOf(read);
  let last = first;
  for (;;) {
    await sleep(everyMs, undefined, { signal, ref: false });
    const now = digestOf(read);
    if (now !== null && now !== first && now === last) return;
    last = now;
  }
}

/** Nothing that is secret stays in memory for this. Null if it can't be read. */
function digestOf(read: () => unknown): string | null {
  try {
    return createHash('sha256').update(JSON.stringify(read())).digest('base64');
  } catch {
    return null;
  }
}
