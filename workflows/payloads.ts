import type { CycleNews, CycleRules, Hold, SickVm, FinishedCycle, Verdict } from '../decisions/healing/state.ts';
import { field } from '../decisions/lib/json.ts';
import {
  duration,
  flag,
  listOf,
  name,
  number,
  object,
  oneOf,
  optional,
  orNull,
  taggedBy,
  text,
  time,
  whole,
  type Reader,
} from '../decisions/lib/payload-reader.ts';
import { isVersion, type ResourceVersions } from '../decisions/lib/resource-versions.ts';
import type { UpdateOutcome } from '../decisions/rollout/batch.ts';

export interface BatchEnd {
  n: number;
  /** UID of its pool. */
  pool?: string;
  outcomes: UpdateOutcome[];
  /** The resource versions that a later plan must have seen. */
  seen: ResourceVersions;
}

/** What signals from people may carry. All optional, since Temporal's Web UI may send nothing. */
export interface Asking {
  /** Who asks. */
  by?: string;
  why?: string;
}

/** `vm` names a VM; a cycle knows its own. */
export interface AskingOf extends Asking {
  vm?: string;
}

/** More VMs than a pool may have. */
const MOST_VMS = 100_000;

/** Accepts any payload, since the signal carries no state: invalid versions are left out. */
export const seen: Reader<ResourceVersions> = (value) => {
  const { pools, vms, vmis } = { pools: field(value, 'pools'), vms: field(value, 'vms'), vmis: field(value, 'vmis') };
  return {
    ...(isVersion(pools) ? { pools } : {}),
    ...(isVersion(vms) ? { vms } : {}),
    ...(isVersion(vmis) ? { vmis } : {}),
  };
};

const words = (value: unknown): { by?: string; why?: string } => {
  if (typeof value === 'string') return value === '' ? {} : { why: text(value, '') };
  const by = field(value, 'by');
  const why = field(value, 'why');
  return {
    ...(typeof by === 'string' ? { by: text(by, '') } : {}),
    ...(typeof why === 'string' ? { why: text(why, '') } : {}),
  };
};

/**
 * Accepts whatever people type in Temporal's Web UI, since the signal alone says enough: nothing, `null`, or a bare
 * word, which is the reason.
 */
export const asking: Reader<Asking> = words;

/** `full` passes more than one step, so it must be a proper boolean. */
export const promoting: Reader<Asking & { full?: boolean }> = (value, what) => {
  const full = field(value, 'full');
  return { ...words(value), ...(full === undefined || full === null ? {} : { full: flag(full, `${what}.full`) }) };
};

export const askingOf: Reader<AskingOf> = (value, what) => {
  const vm = field(value, 'vm');
  return { ...words(value), ...(vm === undefined || vm === null ? {} : { vm: name(vm, `${what}.vm`) }) };
};

export const nothing: Reader<void> = () => {};

const updateOutcome = object<UpdateOutcome>({
  vm: name,
  end: oneOf<UpdateOutcome['end']>({
    Updated: true,
    Failed: true,
    Deferred: true,
    RestartRequired: true,
    Gone: true,
    Superseded: true,
  }),
  why: optional(text),
});

export const batchEnd: Reader<BatchEnd> = object<BatchEnd>({
  n: whole,
  pool: optional(name),
  outcomes: listOf(updateOutcome, MOST_VMS),
  seen,
});

const cycleRules: Reader<CycleRules> = object<CycleRules>({
  backoff: object<CycleRules['backoff']>({ initial: duration, factor: number, max: duration, jitter: number }),
  maxAttempts: orNull(whole),
});

const word = <W extends string>(its: W): Reader<W> => oneOf({ [its]: true } as Record<W, true>);

const sick = {
  uid: name,
  attempt: whole,
  why: text,
  rules: cycleRules,
  holdsData: flag,
  earlyEnds: whole,
  failingSince: optional(orNull(number)),
  onSameDisks: optional(whole),
};

export const verdict: Reader<Verdict> = taggedBy<'verdict', Verdict>('verdict', {
  Gone: object<Extract<Verdict, { verdict: 'Gone' }>>({ verdict: word('Gone'), attempt: whole, rules: cycleRules }),
  Well: object<Extract<Verdict, { verdict: 'Well' }>>({ verdict: word('Well'), attempt: whole, uid: name }),
  Sick: object<{ verdict: 'Sick' } & Omit<SickVm, 'name'>>({ verdict: word('Sick'), ...sick }),
  Left: object<Extract<Verdict, { verdict: 'Left' }>>({ verdict: word('Left'), why: text }),
});

export const healHolding = object<{ hold: Hold; report?: boolean }>({
  hold: oneOf<Hold>({ None: true, Removals: true, All: true }),
  report: optional(flag),
});

type News<N extends CycleNews['news']> = Extract<CycleNews, { news: N }>;
/** `uid` is empty for a VM that is removed and not created again. */
const cycle = { vm: name, pool: name, attempt: whole, uid: text, why: text };
const waiting = object<Extract<News<'Stands'>, { phase: 'Waiting' }>>({
  ...cycle,
  news: word('Stands'),
  phase: word('Waiting'),
  nextAt: time,
});
const working = object<Exclude<News<'Stands'>, { phase: 'Waiting' }>>({
  ...cycle,
  news: word('Stands'),
  phase: oneOf({ Removing: true, Provisioning: true }),
});

export const cycleTold: Reader<CycleNews> = taggedBy<'news', CycleNews>('news', {
  Stands: (value, what) => (field(value, 'phase') === 'Waiting' ? waiting(value, what) : working(value, what)),
  Ended: object<News<'Ended'>>({
    ...cycle,
    news: word('Ended'),
    end: oneOf<FinishedCycle['end']>({ Healed: true, GivenUp: true, Skipped: true, Left: true, Refused: true }),
  }),
});
