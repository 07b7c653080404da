import type { ResourceVersions } from '../../decisions/lib/resource-versions.ts';
import type { BatchVm, UpdateOutcome } from '../../decisions/owners/batch.ts';
import { revisionOf } from '../../decisions/template/revision.ts';
import { poolTemplate } from '../../decisions/template/template.ts';
import type { ActivityOptions } from '../cache/access.ts';
import { References } from '../configuration/references.ts';
import { NotAdmitted } from '../disruption-budget/claim.ts';
import type { DisruptionClaims } from '../disruption-budget/disruption-claims.ts';
import type { WaveOptions } from '../disruption/method.ts';
import { runWave } from '../disruption/wave.ts';
import { forEachConcurrently } from '../lib/for-each-concurrently.ts';
import { withGracefulCancel } from '../lib/graceful-cancel.ts';
import { isLastingFailure } from '../lib/lasting-failure.ts';
import { knownPool } from '../owners/live-owner.ts';
import { recordUpdates } from './record-updates.ts';
import type { Revisions } from './revisions.ts';
import { UpdateMethod } from './update-method.ts';
import type { RemoveRequest, Updated, UpdateRequest } from './update-request.ts';
import { VmUpdater } from './vm-updater.ts';

/** When the rest is given back, and when routine outcomes are reported. */
const PACE = { idleMs: 2_000, idledMs: 0, reportMs: 60_000 } as const;

/** How long a message may be, of few outcomes and of many: a thousand go into one payload. */
const MESSAGE_LENGTH = 1_024;
const SHORT_LENGTH = 256;
const FEW = 100;

function inShort(outcomes: readonly UpdateOutcome[]): UpdateOutcome[] {
  const length = outcomes.length > FEW ? SHORT_LENGTH : MESSAGE_LENGTH;
  return outcomes.map((one) => (one.message === undefined ? one : { ...one, message: one.message.slice(0, length) }));
}

interface UpdateActivityOptions extends ActivityOptions, Pick<WaveOptions, 'acts' | 'stopping'> {
  claims: DisruptionClaims;
  revisions: Revisions;
}

export function createUpdateActivities(options: UpdateActivityOptions) {
  const { client, cache, revisions, concurrency } = options;
  return {
    /**
     * Brings VMs to the revision: writes it to each, restarts or migrates VMs that need it, and waits until each is
     * available, can't get there, or is late. Within the budget, and VM by VM: whenever one is back, it starts on the
     * next. VMs that are to be replaced are only waited for. Returns earlier if there is something to report, or it can
     * start on no VM. Safe to run again at any point: a VM with its new spec carries the revision, and so does a
     * restarted VMI.
     */
    updateVms: (request: UpdateRequest): Promise<Updated> =>
      withGracefulCancel(async (cancelRequested) => {
        const { key, revision } = request;
        const prepared = await prepare(request);
        if ('outcomes' in prepared) return { ...prepared, begun: [] };
        const { pool, updater, template } = prepared;
        const expanded = await revisions.expanded(key, revision);
        const method = new UpdateMethod({ cache, claims: options.claims, request, updater, template, expanded });
        const { outcomes, begun, minVersions } = await runWave(method, { ...options, cancelRequested, ...PACE });
        await recordUpdates(client, pool, revision, outcomes);
        return { outcomes: inShort(outcomes), begun, minVersions };
      }),

    /**
     * Deletes these VMs, which are to be replaced, with their disks, VM by VM and within the budget: each only if its
     * update still takes that, by the pool and the VM as they are, and not if it is leaving the pool. VMs without an
     * outcome are gone, or go. A refusal (by a policy, or the owner's protection) holds up no other VM.
     */
    removeVms: async (request: RemoveRequest): Promise<Pick<Updated, 'outcomes' | 'minVersions'>> => {
      const prepared = await prepare(request);
      if ('outcomes' in prepared) return prepared;
      const { updater, pool } = prepared;
      const remove = async (item: BatchVm): Promise<UpdateOutcome | null> => {
        const deferred = (message: string) => ({ vm: item.name, end: 'Deferred' as const, message });
        try {
          const outcome = await updater.execute(item);
          return outcome instanceof NotAdmitted ? deferred(outcome.whyNot) : outcome;
        } catch (error) {
          if (!isLastingFailure(error)) throw error;
          return { ...deferred(`the API server fails: ${error.message}`), isOwn: true };
        }
      };
      const vms = request.vms.filter(({ act }) => act === 'replace');
      const outcomes = await forEachConcurrently(vms, remove, concurrency);
      await recordUpdates(client, pool, request.revision, outcomes);
      return { outcomes: inShort(outcomes), minVersions: updater.minVersions };
    },
  };

  /** Finds the template of the revision, and who brings VMs to it; or their outcomes, if there is none. */
  async function prepare(request: RemoveRequest) {
    const { key, revision, vms, minVersions } = request;
    await cache.catchUp(minVersions, key);
    // What each VM is brought to is decided on the pool that comes with its claim on the budget.
    const pool = await knownPool(client, cache, key);
    if (pool === undefined) return all(vms, { end: 'Gone' });
    const own = poolTemplate(pool.spec);
    const isNewest = revisionOf(own) === revision;
    // Meanwhile, VMs are looked at, and places in the budget claimed.
    const kept = isNewest ? revisions.keep(pool) : Promise.resolve();
    kept.catch(() => {});
    const template = isNewest ? own : await revisions.find(key, revision);
    // The template was the pool's only for a moment: no VM has failed because of that.
    const message = `the template of revision ${revision} is no longer kept`;
    if (template === undefined) return all(vms, { end: 'Deferred', message });
    const references = new References(client);
    return { pool, template, updater: new VmUpdater({ ...options, ...request, template, references, kept }) };
  }
}

const all = (
  vms: readonly BatchVm[],
  end: Omit<UpdateOutcome, 'vm'>,
): { outcomes: UpdateOutcome[]; minVersions: ResourceVersions } => ({
  outcomes: vms.map(({ name }) => ({ vm: name, ...end })),
  minVersions: {},
});

export type UpdateActivities = ReturnType<typeof createUpdateActivities>;
