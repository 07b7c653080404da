import type { OperationSpec } from '../../../api/operations/operation.ts';
import type { PowerProgress } from '../../../decisions/power/progress.ts';
import type { StoredOperation } from '../../../decisions/views/stored-operation.ts';

/** When the operations of these tests were made. */
export const MADE_AT = '2026-01-01T12:00:00Z';
export const BEFORE = Date.parse(MADE_AT) - 60_000;

export const anOperation = (
  spec: Partial<OperationSpec> = {},
  change: Partial<StoredOperation['metadata']> = {},
  status: StoredOperation['status'] | null = null,
): StoredOperation => ({
  metadata: {
    namespace: 'shop',
    name: 'nightly',
    uid: 'uid-of-nightly',
    resourceVersion: '7',
    generation: 3,
    creationTimestamp: MADE_AT,
    ...change,
  },
  spec: { action: 'Restart', vms: { selector: {} }, ...spec },
  ...(status === null ? {} : { status }),
});

/** The same, cluster-wide. */
export function aClusterOperation(spec: Partial<OperationSpec> = {}): StoredOperation {
  const { metadata, ...operation } = anOperation(spec);
  const { namespace: _, ...clusterWide } = metadata;
  return { ...operation, metadata: clusterWide };
}

export const aProgress = (change: Partial<PowerProgress> = {}): PowerProgress => ({
  action: 'Restart',
  phase: 'Restarting',
  chosen: 5,
  atOnce: 1,
  maxFailures: 0,
  requestedBy: 'ada',
  reason: null,
  done: 0,
  failures: change.failed?.length ?? 0,
  wereDown: change.failed?.filter(({ wasDown }) => wasDown === true).length ?? 0,
  failed: [],
  open: 5,
  inProgress: [],
  skipped: [],
  full: [],
  needs: {},
  paused: null,
  aborted: null,
  ...change,
});
