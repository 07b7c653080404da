import type { Stored } from '../../../api/objects.ts';
import type { PowerAction } from '../../../decisions/power/action.ts';
import { healVmIdOf, poolIdOf } from '../../../workflows/lib/messages.ts';
import { diskOf, type Pool } from '../facts.ts';
import { aTemplate } from '../pools.ts';
import type { Happening } from '../random/happenings.ts';
import { backUp, lose, putBack } from '../world/backup.ts';
import { NAMESPACE, refOf } from '../world/names.ts';
import type { World } from '../world/world.ts';
import { operate } from './operate.ts';

/** Lets happen what the scenario says to the pool of this name. */
export async function happenToPool(
  world: World,
  name: string,
  happening: Extract<Happening, { pool: number }>,
): Promise<void> {
  const pool = world.pool(name);
  if (pool === undefined) return;
  switch (happening.what) {
    case 'scale':
      return world.people.changePool(name, { replicas: happening.replicas ?? undefined });
    case 'template': {
      const { version, neverReady, power: runStrategy = 'Always', sockets, tier } = happening;
      const more = {
        ...diskOf(pool),
        ...(sockets === undefined ? {} : { sockets }),
        ...(tier === undefined ? {} : { tier }),
      };
      return world.people.changePool(name, { template: aTemplate({ version, neverReady, runStrategy, ...more }) });
    }
    case 'rules':
      return world.people.changePool(name, happening.spec);
    case 'renew': {
      await world.people.deletePool(name, happening.isOrphaned);
      const isGone = await world.until(() => world.pool(name) === undefined, 600_000);
      if (isGone) await world.people.createPool(name, pool.spec);
      else if (world.workers.some(({ process }) => process.state === 'running' && !process.isCutOff))
        world.break(`G12: pool ${name} was deleted ten minutes ago, and is not gone`);
      return;
    }
    case 'restore': {
      const backup = backUp(world);
      await world.wait(happening.agoMs);
      await lose(world);
      await world.wait(world.time.between(0, 20_000));
      return putBack(world, backup, happening);
    }
    case 'rewind':
      return rewind(world, name, happening.run);
    case 'restarts':
      return changePower(world, pool, 'Restart', happening.maxUnavailable);
    case 'start all':
    case 'stop all':
      return changePower(world, pool, happening.what === 'start all' ? 'Start' : 'Stop', happening.atOnce);
    case 'set right':
      return world.people.correctDrift(name);
    case 'healNow':
    case 'healSkip':
    case 'cancel attempt':
    case 'terminate attempt':
      return happenToCycle(world, name, pool, happening.what);
    case 'promote':
      return world.people.rollout(name, 'promote', { full: true });
    case 'pause':
    case 'resume':
    case 'abort':
      return world.people.rollout(name, happening.what);
    case 'signal pause':
    case 'signal resume':
      return world.people.signal(name, happening.what.slice('signal '.length), { by: 'ann' });
    case 'healPause':
    case 'healResume':
      return world.people.heal(name, { action: happening.what === 'healPause' ? 'pause' : 'resume' });
  }
}

/** Has a pool's workflow begin again as one of its earlier runs has begun, which is a moment of an earlier Temporal. */
function rewind(world: World, name: string, which: number): void {
  const id = poolIdOf(refOf(name));
  const runs = world.temporal.past.filter((run) => run.id === id);
  const run = runs[which % Math.max(runs.length, 1)];
  if (run === undefined) return;
  world.say(`-- ${id} is put back to its run ${runs.indexOf(run) + 1} of ${runs.length}`);
  world.temporal.terminate(id);
  world.temporal.start(run.type, id, run.args);
}

/** Starts what `drover vm start|stop|restart` starts for all VMs of a pool. */
function changePower(world: World, { metadata }: Stored, action: PowerAction, atOnce: number): void {
  const vms = world.vmsOf(metadata.uid);
  const chosen = Object.fromEntries(
    vms.flatMap((vm) => {
      const uid = (action === 'Restart' ? world.vmi(vm.metadata.name) : vm)?.metadata.uid;
      return uid === undefined ? [] : [[vm.metadata.name, uid]];
    }),
  );
  world.say(`-- drover vm ${action.toLowerCase()} of all VMs of ${metadata.name}, ${atOnce} at a time`);
  operate(world, {
    action,
    chosen: { [NAMESPACE]: chosen },
    atOnce,
    maxFailures: 2,
    deadlineMs: 60_000,
    requestedBy: 'ann',
    reason: null,
  });
}

async function happenToCycle(
  world: World,
  name: string,
  { status }: Pool,
  what: 'healNow' | 'healSkip' | 'cancel attempt' | 'terminate attempt',
): Promise<void> {
  const [cycle] = status?.healing?.cycles ?? [];
  if (cycle === undefined) return;
  const { vm, attempt } = cycle;
  const id = healVmIdOf(refOf(name), vm, attempt);
  if (what === 'healNow' || what === 'healSkip')
    return world.people.heal(name, { action: what === 'healNow' ? 'now' : 'skip', vms: [vm] });
  world.say(`-- ${what}: ${id}`);
  if (what === 'cancel attempt') world.temporal.cancel(id);
  else world.temporal.terminate(id);
}
