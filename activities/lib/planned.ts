import { log } from '@temporalio/activity';
import { OWNER_KINDS, type VmOwnerKind } from '../../api/owner-kinds.ts';

interface PlannedOwner {
  kind: VmOwnerKind;
  namespace: string;
  name: string;
}

/** Told of each plan: how long the decisions took, and whether one has thrown. */
export type OnPlanned = (plan: PlannedOwner & { seconds: number; isFailed: boolean }) => void;

/** Makes a plan. `error`: a bug in drover that kept a plan from being made; the status has the reason. */
export function planned<P>(
  owner: PlannedOwner,
  make: () => { plan: P; error: Error | null },
  onPlanned?: OnPlanned,
): P {
  const began = performance.now();
  const { plan, error } = make();
  onPlanned?.({ ...owner, seconds: (performance.now() - began) / 1_000, isFailed: error !== null });
  if (error !== null) {
    const { kind, namespace, name } = owner;
    const about = { owner: `${namespace}/${name}`, error: error.stack ?? error.message };
    log.error(`no plan could be made for a ${OWNER_KINDS[kind].noun}: its condition Stalled has the reason`, about);
  }
  return plan;
}
