import { editsOf, formatPath, withEdits, type Edit } from '../../decisions/changes/edits.ts';
import { whyLacking } from '../../decisions/changes/wanted.ts';
import { canonical } from '../../decisions/lib/canonical-json.ts';
import type { Json } from '../../decisions/lib/json.ts';
import type { ChangeNeed } from '../../decisions/views/annotations/recorded-change.ts';

/** VMs that a change does the same to, and that need the same for it. VMs are named by `namespace/name`. */
export interface ChangeGroup {
  need: ChangeNeed;
  edits: Edit[];
  vms: string[];
}

export interface ChangePlan {
  groups: ChangeGroup[];
  /** VMs that have all of it already. */
  unchanged: string[];
  /** VMs that are left as they are, by the reason, which completes "skipped:". */
  skipped: { message: string; vms: string[] }[];
}

interface PlannedVm<Vm> {
  name: string;
  vm: Vm;
  /** Why it is not to be changed; null if it may be. */
  whyLeft: string | null;
}

/** Returns what the change does to these VMs, grouped by what differs and what they need. */
export function planChange<Vm extends object>(
  vms: Iterable<PlannedVm<Vm>>,
  patch: Json,
  needOf: (before: Vm, after: Vm) => ChangeNeed,
): ChangePlan {
  const groups = new Map<string, ChangeGroup>();
  const skipped = new Map<string, string[]>();
  const unchanged: string[] = [];
  for (const { name, vm, whyLeft } of vms) {
    const found = whyLeft === null ? editsOf(vm, patch) : null;
    const message = found !== null && 'lacks' in found ? whyLacking(found.lacks) : whyLeft;
    if (found === null || 'lacks' in found) skipped.set(message!, [...(skipped.get(message!) ?? []), name]);
    else if (found.edits.length === 0) unchanged.push(name);
    else {
      const need = needOf(vm, withEdits(vm, found.edits));
      const key = canonical([need, found.edits]);
      const group = groups.get(key) ?? { need, edits: found.edits, vms: [] };
      groups.set(key, group);
      group.vms.push(name);
    }
  }
  return {
    groups: [...groups.values()],
    unchanged,
    skipped: [...skipped].map(([message, names]) => ({ message, vms: names })),
  };
}

/** Says what an edit does: `spec.template.spec.evictionStrategy: None -> LiveMigrate`. */
export const formatEdit = ({ path, was, is }: Edit): string => `${formatPath(path)}: ${shown(was)} -> ${shown(is)}`;

const LONGEST = 120;

function shown(value: unknown): string {
  if (value === undefined) return '<none>';
  const text = typeof value === 'string' ? value : canonical(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}...` : text;
}
