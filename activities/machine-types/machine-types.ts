import { pick } from '../../decisions/lib/json.ts';
import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { TransitionCounts } from '../../decisions/machine-types/transition.ts';
import type { WantedResult } from '../../decisions/machine-types/wanted-results.ts';
import type { ActivityOptions } from '../cache/access.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import type { WaveOptions } from '../disruption/method.ts';
import { forEachConcurrently } from '../lib/for-each-concurrently.ts';
import { withGracefulCancel } from '../lib/graceful-cancel.ts';
import { Authority, type WorkflowIdOf } from '../operations/authority.ts';
import { refuseRestored } from '../operations/refuse-restored.ts';
import { PREFLIGHT, type StatusReports } from '../operations/status-reports.ts';
import { checkTypes, preflight, type Checked, type Preflight } from './check.ts';
import { TransitionContexts, type TransitionContext, type TransitionRequest } from './context.ts';
import { MachineTypePatcher, type TypeChanges, type Unpatched } from './patch-vms.ts';
import { clearTransitionLabels, type ClearedLabels, type ClearLabelsRequest } from './transition-labels.ts';
import {
  REPORTED,
  TransitionMethod,
  type FollowedTransition,
  type FollowTransitionRequest,
} from './transition-method.ts';

interface PatchRequest extends TransitionRequest {
  /** By `namespace/name`. */
  vms: string[];
}

interface PatchedVms {
  /** How many VMs carry the transition's record now and did not before. */
  patched: number;
  /** Outcomes of the VMs that exist but were not patched. */
  outcomes: Unpatched[];
  /** What was changed, for `drover history`. */
  changes: TypeChanges[];
  minVersions: ResourceVersions;
}

interface MachineTypeActivityOptions extends ActivityOptions, Pick<WaveOptions, 'acts' | 'stopping'> {
  claims: DisruptionClaims;
  workflowIdOf: WorkflowIdOf;
  reports: StatusReports;
  /** The same as `concurrency`, for short patches that nothing waits for. */
  patchConcurrency: number;
  /** Called with the state of a transition, and with what was done. */
  onLook?: (id: string, counts: TransitionCounts) => void;
  onPatched?: (count: number) => void;
  onRestarted?: (count: number) => void;
}

export function createMachineTypeActivities(options: MachineTypeActivityOptions) {
  const { client, cache, concurrency, patchConcurrency, reports, onPatched, onRestarted } = options;
  const contexts = new TransitionContexts(cache);
  const { others } = contexts;
  const contextAt = async (request: TransitionRequest, isFresh = false): Promise<TransitionContext> => {
    const { operation, minVersions } = request;
    const authority = await Authority.verify(options, { operation, action: 'MachineType', isFresh });
    await cache.catchUp(minVersions, operation);
    return contexts.of(request, authority);
  };

  return {
    /** Says what would become of VMs, and what stands in the way, before anything is written. */
    preflightTransition: (request: TransitionRequest): Promise<Preflight> =>
      reports.watching(request.operation, PREFLIGHT, async () => {
        const context = await contextAt(request, true);
        const isOver = context.authority.whyOver() !== null;
        return isOver ? { results: [], maxRestarts: 1, minVersions: {} } : preflight({ client, cache }, context);
      }),

    /**
     * Restarts VMs of the transition one by one, each as the limits allow it and only if it still needs that, and
     * follows them: whenever one is ready, it restarts the next. Returns as soon as there is something else to do, or
     * to tell. Safe to run again at any point: what it has begun is noted on the VMs.
     */
    followTransition: (request: FollowTransitionRequest): Promise<FollowedTransition> =>
      reports.watching(request.operation, 'the restart of VMs, or a look at them', () =>
        withGracefulCancel(async (cancelRequested) => {
          const context = await contextAt(request);
          const { authority } = context;
          const reached = cache.versionsOf('pools', 'vms', 'vmis');
          const operationVersion = refuseRestored(request, authority, reached);
          return reports.during(request.operation, authority, async (tell) => {
            const method = new TransitionMethod({ ...options, contexts, context, request, tell });
            const pace = { idleMs: Infinity, idledMs: 0, reportMs: request.reportMs };
            const { changes, plan } = await method.carryOut({ ...options, ...pace, cancelRequested }, operationVersion);
            onRestarted?.(changes.settled.filter(({ end }) => end === 'Restarted').length);
            return { ...changes, ...pick(plan, REPORTED), settled: [...changes.settled, ...plan.failures] };
          });
        }),
      ),

    /** Finds out what becomes of groups of VMs that no dry run has shown yet. */
    checkMachineTypes: (request: TransitionRequest & { wanted: WantedResult[] }): Promise<Checked> =>
      reports.watching(request.operation, 'a dry run', async () =>
        checkTypes({ client, cache }, await contextAt(request), request.wanted),
      ),

    /**
     * Changes the types of VMs, or marks VMs if only their VMI has the old type. Safe to run again at any point.
     */
    patchMachineTypes: (request: PatchRequest): Promise<PatchedVms> =>
      reports.watching(request.operation, 'the change of machine types', async () => {
        const patcher = new MachineTypePatcher({ client, cache, context: await contextAt(request) });
        const patch = (vm: string) => patcher.execute(vm);
        const outcomes = await forEachConcurrently(request.vms, patch, concurrency, patchConcurrency);
        onPatched?.(patcher.patched);
        const { patched, changes, minVersions } = patcher;
        return { patched, outcomes, changes, minVersions };
      }),

    /** Clears the marks of the transition, also once its operation is over or deleted. */
    clearTransitionLabels: (request: ClearLabelsRequest): Promise<ClearedLabels> =>
      reports.watching(request.operation, 'the removal of labels', async () => {
        await Authority.verify(options, { operation: request.operation, action: 'MachineType', isFresh: false });
        return clearTransitionLabels({ client, cache, others, concurrency }, request);
      }),
  };
}

export type MachineTypeActivities = ReturnType<typeof createMachineTypeActivities>;
