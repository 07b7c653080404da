import { formatRefused } from '../../decisions/changes/refused.ts';
import { powerNeed } from '../../decisions/power/need.ts';
import { tryShapes, type TryShapesOptions } from '../changes/try-shapes.ts';
import { runRefused, type Authority } from '../operations/authority.ts';
import { changeOf } from './change-of.ts';
import { limitsOver, whyExcludedBy } from './excluded-vms.ts';

/** What was tried before the first VM is changed. */
export interface TriedChange {
  /** Kinds of changes that were tried in a dry run. */
  tried: number;
  /** VMs whose change is of another kind. */
  untried: number;
}

interface PreflightOptions extends Omit<TryShapesOptions, 'change' | 'isMeant'> {
  authority: Authority;
}

/** Throws a `Refused` if dry runs show that more VMs would fail than may. */
export async function preflightPatch({ authority, ...options }: PreflightOptions): Promise<TriedChange> {
  const { cache, chosen } = options;
  const { operation } = authority;
  const whyExcluded = whyExcludedBy(cache, operation);
  const tried = await tryShapes({
    ...options,
    change: changeOf(operation)!,
    isMeant: ({ vm, vmi }) =>
      powerNeed('Patch', { target: vm.uid, vm, vmi, owner: undefined }).need === 'act' && whyExcluded(vm, vmi) === null,
  });
  if (tried === null) return { tried: 0, untried: 0 };
  const { refused, shapes, untried } = tried;
  const { maxFailures } = limitsOver(cache, operation, chosen, 0);
  const failing = refused.reduce((sum, { vms }) => sum + vms, 0);
  if (failing > maxFailures) throw runRefused(formatRefused(refused, maxFailures));
  return { tried: shapes, untried };
}
