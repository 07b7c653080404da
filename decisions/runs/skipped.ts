/** How many VM names are kept per reason for skipping; the rest are counted. */
const NAMES_SHOWN = 100;

/** VMs that are skipped now, for one reason. */
export interface Skipped {
  message: string;
  /** Whether their owners want them skipped; otherwise the run waits for them. */
  isExcluded: boolean;
  count: number;
  /** The first of them, by `namespace/name`. */
  vms: string[];
}

/** How many reasons, names per reason, and characters per reason are reported: limits the size of a report. */
const MAX_REASONS = 40;
const MAX_NAMES = 40;
/** Most bytes of the names of all reasons. */
const NAMES_BYTES = 100_000;
const MESSAGE_LENGTH = 300;
const OTHERS = 'for other reasons';
/** The same for VMs that are left for good, in addition to everything else that a run keeps. */
const EXCLUDED_REASONS = 20;
const EXCLUDED_NAMES = 10;

/**
 * Shortens the list for a workflow, which keeps it and passes it to its next run in a payload of limited size: the rest
 * is counted.
 */
export function inShort(skipped: readonly Skipped[]): Skipped[] {
  const first = skipped.slice(0, MAX_REASONS);
  let bytes = NAMES_BYTES;
  const named = (vms: readonly string[]): string[] =>
    vms.slice(0, MAX_NAMES).filter(({ length }) => (bytes -= length + 3) >= 0);
  const shortened = first.map(({ message, isExcluded, count, vms }) => {
    return { message: message.slice(0, MESSAGE_LENGTH), isExcluded, count, vms: named(vms) };
  });
  const rest = skipped.slice(MAX_REASONS);
  return [...shortened, ...others(true, rest), ...others(false, rest)];
}

/** Returns the list with one more VM that is left as it is, in short. */
export function withSkipped(skipped: readonly Skipped[], vm: string, message: string): Skipped[] {
  const short = message.slice(0, MESSAGE_LENGTH);
  const hasCapacity = skipped.length < EXCLUDED_REASONS || skipped.some((one) => one.message === short);
  const reason = hasCapacity ? short : OTHERS;
  const known = skipped.find((one) => one.message === reason) ?? {
    message: reason,
    isExcluded: true,
    count: 0,
    vms: [],
  };
  const one = { ...known, count: known.count + 1, vms: [...known.vms, vm].slice(0, EXCLUDED_NAMES) };
  return [...skipped.filter((other) => other.message !== reason), one];
}

function others(isExcluded: boolean, rest: readonly Skipped[]): Skipped[] {
  const count = rest.reduce((sum, one) => sum + (one.isExcluded === isExcluded ? one.count : 0), 0);
  return count === 0 ? [] : [{ message: OTHERS, isExcluded, count, vms: [] }];
}

/** Collects skipped VMs by reason. */
export class SkippedVms {
  readonly #groups = new Map<string, Skipped>();

  add(key: string, message: string, isExcluded: boolean): void {
    const group = this.#groups.get(message) ?? { message, isExcluded, count: 0, vms: [] };
    this.#groups.set(message, group);
    group.count++;
    if (group.vms.length < NAMES_SHOWN) group.vms.push(key);
  }

  get all(): Skipped[] {
    return [...this.#groups.values()];
  }
}
