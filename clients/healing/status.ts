import type { Stored } from '../../api/objects.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { Pools } from '../cli/kinds.ts';
import { Live } from '../cli/live.ts';
import { paint, plain, print } from '../cli/output.ts';
import { followOwners } from '../owners/follow-owners.ts';
import type { Pool } from '../pool/objects.ts';
import { printData, type DataFormat } from '../rollout/data.ts';
import { healLines } from './lines.ts';
import { healView } from './view.ts';

const REDRAW_MS = 1_000;

/** Prints the current healing state of pools. */
export async function printHealing(pools: Stored<Pool>[], output?: DataFormat): Promise<void> {
  const views = pools.map(healView);
  if (output === undefined) print(pools.map((pool) => blockOf(pool, Date.now()).join('\n')).join('\n\n'));
  else await printData(views.length === 1 ? views[0] : { items: views }, output);
}

/** Shows healing as it changes, until the command is interrupted. Throws `Failure` if a pool is deleted. */
export async function followHealing(kube: KubeClient, pools: Stored<Pool>[]): Promise<void> {
  const live = new Live();
  let newest = pools;
  let shown = '';
  const draw = (): void => {
    const now = Date.now();
    live.drawBlocks(
      'pool',
      newest.map((pool) => blockOf(pool, now)),
    );
  };
  // Ages need a redraw only in place: in a log, each snapshot is as of its time.
  const redraw = process.stdout.isTTY ? setInterval(draw, REDRAW_MS) : undefined;
  try {
    await followOwners({ kube, kind: Pools, owners: pools }, (now) => {
      newest = now;
      const text = JSON.stringify(now.map(healView));
      if (text !== shown) draw();
      shown = text;
      return false;
    });
  } finally {
    clearInterval(redraw);
    live.end();
  }
}

function blockOf(pool: Stored<Pool>, now: number): string[] {
  const view = healView(pool);
  const head = paint('bold', plain(`${view.namespace}/${view.pool}`));
  return [head, ...healLines(view, now).map((line) => (line === '' ? '' : `  ${line}`))];
}
