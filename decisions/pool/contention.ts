import type { UntimedCondition } from '../owners/conditions.ts';

/**
 * So often within this time must others have written a pool's status for its workflow to conclude that they continue.
 */
const TIMES = 3;
const WITHIN_MS = 600_000;
/** How long a workflow stands aside after each such status, at least and at most. */
const ASIDE_MS = { least: 30_000, most: 90_000 };

/**
 * What the workflow of a pool knows of others that write the pool's status, as plain data: by mistake, two
 * installations of drover serve one cluster, each with its own Temporal. Times are milliseconds since the epoch.
 */
export interface Contention {
  /** When their last statuses were seen. */
  foreignAt: number[];
  /** Until when the workflow begins nothing, and writes no status. */
  asideUntil: number;
}

export const NO_CONTENTION: Contention = { foreignAt: [], asideUntil: 0 };

export const isContended = ({ foreignAt }: Contention, now: number): boolean =>
  foreignAt.filter((at) => at + WITHIN_MS > now).length >= TIMES;

/**
 * Whether a workflow that sees one more status of others stands aside. A plan that sees one then writes none: otherwise
 * each of two workflows would take the last status of the other, which has stood aside since, for a new one.
 */
export const yieldsToOthers = (known: Contention, now: number): boolean => sawForeign(known, now, 0).asideUntil > now;

/**
 * Returns what is known once a status of others was seen, as after a restore of Temporal. Of two workflows that write
 * again and again, one stands aside for as long as the other continues: the one to which `random`, from 0 to 1, happens
 * to give the longer time.
 */
export function sawForeign({ foreignAt, asideUntil }: Contention, now: number, random: number): Contention {
  const known = { foreignAt: [...foreignAt, now].slice(-TIMES), asideUntil };
  const { least, most } = ASIDE_MS;
  return isContended(known, now) ? { ...known, asideUntil: now + least + random * (most - least) } : known;
}

/** Returns the plan of a workflow that stands aside: nothing is begun, and nothing is on record. */
export const planAside = <Healing extends object>(healing: Healing, { asideUntil }: Contention) => ({
  steps: [],
  events: [],
  healing: { ...healing, begin: [] },
  isRecorded: false,
  requeueAt: asideUntil,
});

/** `Contended`: others write the status of the pool, too. Otherwise it is absent. */
export const contendedCondition = ({ isContended: isTrue }: { isContended?: true }): UntimedCondition[] =>
  isTrue === true ? [{ type: 'Contended', status: 'True', reason: 'AnotherInstallation', message: CONTENDED }] : [];

export const CONTENDED =
  'another installation of drover, with its own Temporal, also writes the status of this pool: stop one of them; ' +
  'until then, one of the two stands aside, and the pool proceeds more slowly';
