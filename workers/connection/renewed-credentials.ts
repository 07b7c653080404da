import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** How often the files of certificates, keys and Temporal's configuration are read again. */
const EVERY_MS = 5_000;

/**
 * What becomes of what was read: it is used from now on, can't be used and is tried again, or only a process that
 * starts can use it.
 */
export type Adoption = 'adopted' | 'refused' | 'restart';

interface RenewalOptions<Config> {
  signal: AbortSignal;
  everyMs?: number;
  /** Reads what a worker connects to Temporal with. */
  read: () => Config;
  /** What the worker is connected with. */
  used: Config;
  adopt: (config: Config) => Promise<Adoption>;
}

/**
 * Adopts what a worker connects to Temporal with each time that this has become another, as after a certificate was
 * renewed in its file. Contents count once they were read twice without a difference: a certificate and its key may be
 * two writes. A file that can't be read just now is read again. Ends once only another process can use what was read.
 */
export async function followRenewals<Config>({
  signal,
  everyMs = EVERY_MS,
  read,
  used,
  adopt,
}: RenewalOptions<Config>): Promise<void> {
  let known = digestOf(used);
  let last = known;
  for (;;) {
    await sleep(everyMs, undefined, { signal, ref: false });
    const config = tried(read);
    if (config === undefined) continue;
    const digest = digestOf(config);
    if (digest !== known && digest === last) {
      const adoption = await adopt(config);
      if (adoption === 'restart') return;
      if (adoption === 'adopted') known = digest;
    }
    last = digest;
  }
}

function tried<Config>(read: () => Config): Config | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Nothing that is secret stays in memory for this. */
const digestOf = (config: unknown): string => createHash('sha256').update(JSON.stringify(config)).digest('base64');
