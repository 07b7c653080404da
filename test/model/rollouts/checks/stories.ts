/* oxlint-disable unicorn/no-thenable -- the word is the user's */
import type { StepCheck } from '../../../../api/pool/pool.ts';
import { aCheck } from '../../pools.ts';
import { ask, completed, MINUTE, roll, type Stage, type Stories, type Story } from '../story.ts';

/** A rollout that waits at its first VM until a check has held; `answers`: what Prometheus does by the minute. */
const checked = (
  about: string,
  answers: (minute: number) => string,
  live: (stage: Stage) => Promise<unknown>,
  check: Partial<StepCheck> = {},
): Story => ({
  about: `4 VMs, maxUnavailable 2, a step of 1 VM whose check must hold for 30 s; ${about}`,
  spec: { replicas: 4, maxUnavailable: 2, rollout: { steps: [{ to: 1, then: { check: aCheck(check) } }] } },
  live: async (stage) => {
    const { world } = stage;
    const begin = world.time.now;
    world.prometheus = () => answers(Math.floor((world.time.now - begin) / MINUTE));
    await roll(stage, { version: 2 });
    await live(stage);
  },
});

const holds = (): string => '1';
const fails = (): string => '0';
const isAway = (): never => {
  throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
};

export const stories: Stories = {
  'a check holds': checked('it holds', holds, completed),
  'a check fails': checked('it fails', fails, ({ world }) => world.wait(2 * MINUTE)),
  'a check fails and the rollout is undone': checked('it fails', fails, ({ world }) => world.wait(2 * MINUTE), {
    onFailure: 'Undo',
  }),
  'a check fails at first': checked('it fails for a minute', (minute) => (minute === 0 ? '0' : '1'), completed, {
    failureThreshold: 10,
  }),
  'Prometheus is away': checked(
    'Prometheus is away for 5 minutes',
    (minute) => (minute < 5 ? isAway() : '1'),
    completed,
  ),
  'a person promotes past a check': checked(
    'nobody can judge it',
    () => 'NaN',
    async (stage) => {
      await stage.world.wait(MINUTE);
      await ask(stage, 'promote');
      await completed(stage);
    },
  ),
  'paused during a check': checked('it holds, and a person pauses', holds, async (stage) => {
    await stage.world.wait(20_000);
    await ask(stage, 'pause');
    await stage.world.wait(5 * MINUTE);
    await ask(stage, 'resume');
    await completed(stage);
  }),
  'resumed after a check has failed': checked(
    'it fails for two minutes',
    (minute) => (minute < 2 ? '0' : '1'),
    async (stage) => {
      await stage.world.wait(3 * MINUTE);
      await ask(stage, 'resume');
      await completed(stage);
    },
  ),
  'another template during a check': checked('it holds; C comes after 20 s', holds, async (stage) => {
    await stage.world.wait(20_000);
    await roll(stage, { version: 3 });
    await completed(stage);
  }),
  'the worker is lost during a check': checked('it holds; the worker that looks is killed', holds, async (stage) => {
    const { world } = stage;
    await world.wait(15_000);
    stage.log.person('all workers are killed');
    for (const worker of world.workers) world.kill(worker);
    await world.wait(20_000);
    await world.addWorker();
    await completed(stage);
  }),
};
