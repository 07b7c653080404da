import { freeNames } from '../../../decisions/replica-sets/names.ts';
import type { ReplicaSetStep } from '../../../decisions/replica-sets/plan.ts';

/** The first names of the set of these tests. */
export const namesOf = (count: number): string[] => freeNames({ name: 'web', uid: 'set-uid' }, count, () => false);

/** Names that the steps of a kind are about. */
export const namesIn = (steps: ReplicaSetStep[], kind: ReplicaSetStep['kind']): string[] =>
  steps.flatMap((step) => {
    if (step.kind !== kind) return [];
    if ('names' in step) return step.names;
    return 'vms' in step ? step.vms.map(({ name }) => name) : [];
  });
export const made = (steps: ReplicaSetStep[]): string[] => namesIn(steps, 'createReplicas');
export const deleted = (steps: ReplicaSetStep[]): string[] => namesIn(steps, 'delete');

export const conditionOf = <C extends { type: string }>(status: { conditions?: C[] } | null, type: string) =>
  status?.conditions?.find((condition) => condition.type === type);
