import type { Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Failure } from '../cli/failure.ts';
import { Pools } from '../cli/kinds.ts';
import { Live } from '../cli/live.ts';
import { paint, plain, print, shortDuration } from '../cli/output.ts';
import { followOwners } from '../owners/follow-owners.ts';
import { bar } from '../owners/status-view.ts';
import type { Pool } from '../pool/objects.ts';
import { printData, type DataFormat } from './data.ts';
import { rolloutLines } from './lines.ts';
import { KnownRevisions } from './revisions/known.ts';
import { knownRevisions } from './revisions/revisions.ts';
import { rolloutView, type RolloutView } from './view.ts';

const REDRAW_MS = 1_000;

/** Prints the current state of rollouts. */
export async function printRollouts(kube: KubeClient, pools: Stored<Pool>[], output?: DataFormat): Promise<void> {
  const views = await Promise.all(pools.map(async (pool) => rolloutView(pool, await knownRevisions(kube, pool))));
  if (output === undefined) print(views.map((view) => blockOf(view, Date.now()).join('\n')).join('\n\n'));
  else await printData(asData(views), output);
}

const asData = (views: RolloutView[]): RolloutView | { items: RolloutView[] } =>
  views.length === 1 ? views[0]! : { items: views };

export interface FollowOptions {
  output?: DataFormat | undefined;
  /** Milliseconds; no limit if undefined or 0. */
  timeoutMs?: number | undefined;
}

/** Shows rollouts until all are over. Throws if any of them did not complete, or still goes on after `timeoutMs`. */
export async function followRollouts(kube: KubeClient, pools: Stored<Pool>[], options: FollowOptions): Promise<void> {
  const { output, timeoutMs = 0 } = options;
  const board = await new Board(kube, output).start(pools);
  const signal = timeoutMs === 0 ? undefined : AbortSignal.timeout(timeoutMs);
  try {
    await followOwners({ kube, kind: Pools, owners: pools, signal }, (now) =>
      board.update(now).every(({ end }) => end !== null),
    );
  } catch (error) {
    if (signal?.aborted !== true) throw error;
    const open = board.views().filter(({ end }) => end === null);
    throw new AggregateError(
      open.map((view) => new Failure(formatStill(view, timeoutMs))),
      'time is over',
      { cause: error },
    );
  } finally {
    await board.end();
  }
  const failed = board.views().filter(({ end }) => end !== 'Complete');
  if (failed.length > 0) throw new AggregateError(failed.map((view) => new Failure(formatEnd(view))));
}

const formatStill = ({ pool, phase, updatedReplicas, replicas }: RolloutView, timeoutMs: number): string =>
  `pool ${pool} is still ${phase} after ${shortDuration(timeoutMs)}, ${updatedReplicas} of ${replicas} VMs are updated; drover goes on with it`;

function formatEnd({ pool, phase, end, message, updatedReplicas, replicas }: RolloutView): string {
  const count = `${updatedReplicas} of ${replicas} VMs are updated`;
  if (end === 'OutdatedVms')
    return `pool ${pool}: its updateStrategy leaves VMs to others; ${count}${message === '' ? '' : `: ${message}`}`;
  return `pool ${pool}: the rollout is ${phase}, ${count}${message === '' ? '' : `: ${message}`}`;
}

function blockOf(view: RolloutView, now: number): string[] {
  const { namespace, pool, updatedReplicas, replicas, readyReplicas, surgeReplicas } = view;
  const extra = surgeReplicas === 0 ? '' : `, ${surgeReplicas} extra`;
  const numbers = `${updatedReplicas}/${replicas} updated, ${readyReplicas} ready${extra}`;
  const head = `${paint('bold', plain(`${namespace}/${pool}`))}  ${bar(updatedReplicas, replicas)} ${numbers}`;
  return [head, ...rolloutLines(view, now).map((line) => `  ${line}`)];
}

/** Shows rollouts as they change: in place on a terminal, elsewhere as one snapshot after the other. */
class Board {
  readonly #output: DataFormat | undefined;
  #live: Live | undefined;
  readonly #revisions: KnownRevisions;
  #redraw: NodeJS.Timeout | undefined;
  #pools: Stored<Pool>[] = [];
  #shown = '';
  #printing = Promise.resolve();

  constructor(kube: KubeClient, output: DataFormat | undefined) {
    this.#revisions = new KnownRevisions(kube);
    this.#output = output;
  }

  /** Reads the revision numbers, and shows nothing yet. */
  async start(pools: Stored<Pool>[]): Promise<this> {
    await Promise.all(pools.map((pool) => this.#revisions.learn(pool)));
    if (this.#output !== undefined) return this;
    this.#live = new Live();
    // Ages need a redraw only in place: in a log, each snapshot is as of its time.
    if (process.stdout.isTTY) this.#redraw = setInterval(() => this.#draw(this.views()), REDRAW_MS);
    return this;
  }

  views(): RolloutView[] {
    return this.#pools.map((pool) => rolloutView(pool, this.#revisions.of(pool)));
  }

  update(pools: Stored<Pool>[]): RolloutView[] {
    this.#pools = pools;
    const views = this.views();
    for (const pool of pools)
      void this.#revisions.catchUp(pool).then((shouldReport) => shouldReport && this.update(this.#pools));
    const text = JSON.stringify(views);
    if (text !== this.#shown) this.#draw(views);
    this.#shown = text;
    return views;
  }

  async end(): Promise<void> {
    clearInterval(this.#redraw);
    this.#live?.end();
    await this.#printing;
  }

  #draw(views: RolloutView[]): void {
    const now = Date.now();
    if (this.#output === undefined)
      this.#live!.drawBlocks(
        'pool',
        views.map((view) => blockOf(view, now)),
      );
    else {
      const output = this.#output;
      this.#printing = this.#printing.then(() => {
        if (output === 'yaml') print('---');
        return printData(asData(views), output);
      });
    }
  }
}
