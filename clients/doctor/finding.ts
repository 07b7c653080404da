import { KubeError } from '../../kubernetes/errors.ts';
import { sentenceOf } from '../cli/failure.ts';

/** `Failed`: drover does not work until this is fixed. `Unknown`: the command could not find out, and says why. */
export type Outcome = 'OK' | 'Warning' | 'Failed' | 'Unknown';

/** What one check has found. */
export interface Finding {
  check: string;
  outcome: Outcome;
  message: string;
  /** How to fix it; left out if nothing needs to be fixed. */
  fix?: string;
}

export type Found = Omit<Finding, 'check'>;

/** What a look has found: one thing, or several. */
export type Looked = Found | readonly Found[];

export const ok = (message: string): Found => ({ outcome: 'OK', message });
export const warning = (message: string, fix: string): Found => ({ outcome: 'Warning', message, fix });
export const failed = (message: string, fix: string): Found => ({ outcome: 'Failed', message, fix });
export const unknown = (message: string): Found => ({ outcome: 'Unknown', message });

/** One thing that is looked at. Throws if a server does not answer or refuses. */
export interface Check {
  name: string;
  look: () => Promise<Looked>;
}

/** How long one check may take, in milliseconds. */
export const DEADLINE_MS = 5_000;

/** Options of a call to the API server within a check. */
export const call = (): { signal: AbortSignal } => ({ signal: AbortSignal.timeout(DEADLINE_MS) });

/** Carries a check out. What it can't learn is unknown, with the server's reason. */
export async function carryOut({ name, look }: Check): Promise<Finding[]> {
  const found = await look().catch((error: unknown) =>
    unknown(
      error instanceof KubeError && error.status === 403 ? `not allowed to look: ${error.message}` : sentenceOf(error),
    ),
  );
  return findingsOf(name, found);
}

export const findingsOf = (check: string, found: Looked): Finding[] => [found].flat().map((one) => ({ check, ...one }));
