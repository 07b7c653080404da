import { POOL_LABEL, REVISION_LABEL } from '../../api/labels-and-annotations.ts';
import { canonical } from '../lib/canonical-json.ts';
import { field, isObject, type Json } from '../lib/json.ts';
import { byName } from '../merge/named-items.ts';
import { mergeVm, writtenParts, type WrittenVm } from '../merge/vm.ts';
import type { NewVirtualMachine } from '../template/vm-from-template.ts';
import type { TransitionRecord } from '../views/annotations/transition-record.ts';

/** A field of a VM that is not as the template made it. */
export interface DriftedField {
  /** Such as `spec.template.spec.domain.devices.disks[root].bootOrder`. */
  path: string;
  wanted: unknown;
  /** Null for a field that was removed. */
  actual: unknown;
}

/** A VM, and what the last machine type transition has changed in it. */
interface MadeVm {
  vm: WrittenVm;
  transition: TransitionRecord | null;
}

/**
 * Returns the fields of a VM that are not as its template makes them: `made` is the VM that its pool would create from
 * the VM's own revision. Fields that the template doesn't set are not drift, and neither are a VM's power state, which
 * users choose, the names of its disks, which a restore changes, and a machine type that a transition has set.
 */
export function driftOf(member: MadeVm, made: NewVirtualMachine): DriftedField[] {
  const { vm } = member;
  const without = withoutDrift(vm, member.transition, made);
  return differences(writtenParts(vm), writtenParts(without), '').filter(
    ({ path }) => !DROVER_LABELS.some((label) => path.endsWith(`["${label}"]`)),
  );
}

export const withoutDrift = <Vm extends WrittenVm>(
  vm: Vm,
  transition: TransitionRecord | null,
  made: NewVirtualMachine,
): Vm => mergeVm(vm, null, withTransition(vm, transition, made));

/** Labels that drover itself adds and removes. */
const DROVER_LABELS = [POOL_LABEL, REVISION_LABEL];

const TYPE = ['template', 'spec', 'domain', 'machine', 'type'];

function withTransition(
  { spec }: WrittenVm,
  transition: TransitionRecord | null,
  made: NewVirtualMachine,
): NewVirtualMachine {
  const type = field(spec, ...TYPE);
  if (transition === null || type !== transition.to || field(made.spec, ...TYPE) === undefined) return made;
  return { ...made, spec: withField(made.spec, TYPE, type) };
}

const withField = (holder: Json, [key, ...rest]: string[], value: unknown): Json => ({
  ...holder,
  [key!]: rest.length === 0 ? value : withField((holder[key!] ?? {}) as Json, rest, value),
});

/** Returns the leaves of `wanted` that `actual` has otherwise, or lacks; items of lists by their names. */
function differences(actual: unknown, wanted: unknown, path: string): DriftedField[] {
  if (actual === wanted) return [];
  if (isObject(actual) && isObject(wanted))
    return keysOf(actual, wanted).flatMap((key) =>
      differences(field(actual, key), field(wanted, key), `${path}${segment(key, path)}`),
    );
  if (Array.isArray(actual) && Array.isArray(wanted)) {
    const [now, then] = [byName(actual), byName(wanted)];
    if (now !== undefined && then !== undefined)
      return [...then].flatMap(([name, item]) => differences(now.get(name), item, `${path}[${name}]`));
  }
  return canonical(actual ?? null) === canonical(wanted ?? null)
    ? []
    : [{ path, wanted: wanted ?? null, actual: actual ?? null }];
}

const keysOf = (a: Json, b: Json): string[] => [...new Set([...Object.keys(b), ...Object.keys(a)])];

const segment = (key: string, path: string): string => {
  if (!/^[\w-]+$/.test(key)) return `["${key}"]`;
  return path === '' ? key : `.${key}`;
};
