import { pick } from '../../decisions/lib/json.ts';
import { ACTION_LABELS, type PowerAction } from '../../decisions/power/action.ts';
import type { StoredOperation } from '../../decisions/views/stored-operation.ts';
import type { ActivityOptions } from '../cache/access.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import type { WaveOptions } from '../disruption/method.ts';
import { withGracefulCancel } from '../lib/graceful-cancel.ts';
import { Authority, type WorkflowIdOf } from '../operations/authority.ts';
import { refuseRestored } from '../operations/refuse-restored.ts';
import { PREFLIGHT, type StatusReports } from '../operations/status-reports.ts';
import { changeOf } from './change-of.ts';
import type { ChosenVmsOfRuns } from './chosen-vms.ts';
import { PowerMethod } from './power-method.ts';
import { preflightPatch, type TriedChange } from './preflight-patch.ts';
import type { ChangedPower, ChangePowerRequest } from './request.ts';

export interface PowerActivityOptions extends ActivityOptions, Pick<WaveOptions, 'acts' | 'stopping'> {
  claims: DisruptionClaims;
  chosenVms: ChosenVmsOfRuns;
  workflowIdOf: WorkflowIdOf;
  reports: StatusReports;
}

export function createPowerActivities({
  client,
  cache,
  claims,
  chosenVms,
  workflowIdOf,
  reports,
  ...options
}: PowerActivityOptions) {
  return {
    /**
     * Makes a dry run of each kind of change that an operation makes, before the first. Throws a non-retryable failure
     * if more VMs would be refused than may fail. Writes nothing: safe to run again at any point.
     */
    preflightPatch: ({
      operation,
      minVersions,
    }: Pick<ChangePowerRequest, 'operation' | 'minVersions'>): Promise<TriedChange> =>
      reports.watching(operation, PREFLIGHT, async () => {
        const claimed = { operation, action: 'Patch', isFresh: true } as const;
        const authority = await Authority.verify({ client, cache, workflowIdOf }, claimed);
        if (authority.whyOver() !== null) return { tried: 0, untried: 0 };
        await cache.catchUp(minVersions, operation);
        const { targets: chosen } = await chosenVms.ofThisRun('Patch');
        return preflightPatch({ client, cache, authority, chosen, concurrency: options.concurrency });
      }),

    /**
     * Starts, stops, restarts, migrates or changes the chosen VMs, each as the limits allow it and only if it is still
     * the chosen one, and follows them: whenever one is ready, or has stopped, it takes the next. Returns earlier if
     * there is something to tell. Safe to run again at any point: what it has begun is noted on the VMs.
     */
    changePower: (request: ChangePowerRequest): Promise<ChangedPower> =>
      reports.watching(request.operation, 'the start, stop or restart of VMs', () =>
        withGracefulCancel(async (cancelRequested) => {
          const {
            action,
            operation,
            requestedBy,
            reason,
            idledMs = 0,
            reportMs,
            inProgress,
            ended,
            failures,
          } = request;
          const isFresh = inProgress.length === 0 && ended === '' && failures === 0;
          const authority = await Authority.verify({ client, cache, workflowIdOf }, { operation, action, isFresh });
          const operationVersion = refuseRestored(
            request,
            authority,
            await cache.catchUp(request.minVersions, operation),
          );
          const chosen = await chosenVms.ofThisRun(action);
          const note = `${noteOf(action, authority.operation)}, requested by ${requestedBy}${reason === null ? '' : `: ${reason}`}`;
          const change = changeOf(authority.operation);
          return reports.during(operation, authority, async (tell) => {
            const method = new PowerMethod({ client, cache, claims, request, authority, change, chosen, note, tell });
            const pace = { idleMs: method.deadlineMs, idledMs, reportMs };
            const wave = { ...options, ...pace, cache, cancelRequested };
            const { changes, plan, idledMs: now } = await method.carryOut(wave, operationVersion);
            return { ...changes, ...pick(plan, ['open', 'skipped', 'full']), idledMs: now };
          });
        }),
      ),
  };
}

const EVENT_NOTES: Record<PowerAction, string> = {
  Start: ACTION_LABELS.Start.done,
  Stop: ACTION_LABELS.Stop.done,
  Restart: 'Restarted within a disruption budget',
  Migrate: 'Live migration begun within a disruption budget',
  Patch: 'Changed',
};

const noteOf = (action: PowerAction, operation: StoredOperation | undefined): string =>
  operation?.spec.pastBudgets === true
    ? EVENT_NOTES[action].replace(/ within a disruption budget|$/, ' past disruption budgets')
    : EVENT_NOTES[action];

export type PowerActivities = ReturnType<typeof createPowerActivities>;
