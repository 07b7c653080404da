import '../../world/real-code.ts';
import { expect, test } from 'vitest';
import type { CloudEvent, Parcel } from '../../../../activities/notifications/cloud-event.ts';
import type { Posted } from '../../../../activities/notifications/post.ts';
import { CoreEvents } from '../../../../api/resources.ts';
import { notificationsIdOf } from '../../../../workflows/lib/messages.ts';
import { activityNow } from '../../facts.ts';
import { aTemplate } from '../../pools.ts';
import { CLUSTER } from '../../world/names.ts';
import type { World } from '../../world/world.ts';
import { crashLoop } from '../crash-loop.ts';
import { begun, play, statusOf } from '../story.ts';
import { misfortune } from './misfortune.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
// oxlint-disable-next-line unicorn/no-thenable
const approvalAt = (to: number) => ({ to, then: { approval: {} } });

/** A receiver in the world, and what it has been told. */
class ModelReceiver {
  readonly told: CloudEvent[] = [];
  tries = 0;
  answer: () => Posted = () => ({ outcome: 'Taken' });

  readonly post = (_receiver: unknown, { body }: Parcel): Promise<Posted> => {
    this.tries++;
    const posted = this.answer();
    // An answer may be lost after the receiver has heard it all.
    if (posted.outcome !== 'Refused') this.told.push(JSON.parse(body) as CloudEvent);
    return Promise.resolve(posted);
  };

  /** Ids of the events of a type, each once. */
  ids(type: string): string[] {
    return [...new Set(this.told.filter((event) => event.type === type).map(({ id }) => id))];
  }
}

const phaseOf = (world: World): string | undefined =>
  statusOf(world)?.conditions?.find(({ type }) => type === 'Progressing')?.reason;

/** Names of the Events that tell notices from now on: the API server of the model keeps none. */
function eventsIn(world: World): ReadonlySet<string> {
  const names = new Set<string>();
  world.onlookers.push({
    onCall: ({ resource, verb, key }) => {
      if (resource?.plural === CoreEvents.plural && verb === 'create' && activityNow() === 'deliver')
        names.add(key.name!);
    },
  });
  return names;
}

test('each step that waits is told under one id of its own, whatever workers, Temporal and the receiver do meanwhile', () => {
  const receiver = new ModelReceiver();
  return play(
    async (world) => {
      receiver.told.length = 0;
      const events = eventsIn(world);
      await begun(world, { replicas: 3, rollout: { steps: [approvalAt(1), approvalAt(2)] } });
      receiver.answer = () =>
        world.time.between(0, 2) === 0 ? { outcome: 'Taken' } : { outcome: 'Failed', message: 'it answers 503' };
      await world.people.changePool('web', { template: aTemplate({ version: 2 }) });
      for (let step = 1; step <= 2; step++) {
        const waits = (): boolean =>
          phaseOf(world) === 'WaitingForApproval' && statusOf(world)!.rollout!.step === step - 1;
        expect(await world.until(waits, 10 * MINUTE_MS)).toBe(true);
        for (let n = 0; n < 3; n++) await misfortune(world, notificationsIdOf(CLUSTER), 2 * MINUTE_MS);
        const isTold = (): boolean => receiver.ids('dev.drover.rollout.waiting').length === step;
        expect(await world.until(isTold, 10 * MINUTE_MS)).toBe(true);
        await world.people.rollout('web', 'promote');
      }
      expect(await world.until(() => phaseOf(world) === 'Complete', 10 * MINUTE_MS)).toBe(true);
      receiver.answer = () => ({ outcome: 'Taken' });
      await world.wait(10 * MINUTE_MS);
      expect(receiver.ids('dev.drover.rollout.waiting')).toHaveLength(2);
      for (const { data } of receiver.told.filter(({ type }) => type.endsWith('.ended')))
        expect(receiver.ids('dev.drover.rollout.waiting')).toContain(data['began']);
      expect(events.size).toBe(2);
      // Nothing is left to tell.
      expect(world.temporal.runs.get(notificationsIdOf(CLUSTER))!.isOpen).toBe(false);
    },
    { post: receiver.post },
    6,
  );
});

test('a receiver that takes nothing for an hour holds up no rollout, grows no history, and hears all of it then', () => {
  const receiver = new ModelReceiver();
  return play(
    async (world) => {
      receiver.told.length = 0;
      receiver.tries = 0;
      await begun(world, { replicas: 2, rollout: { steps: [approvalAt(1)] } });
      receiver.answer = () => ({ outcome: 'Failed', message: 'it does not answer' });
      for (let version = 2; version <= 7; version++) {
        await world.people.changePool('web', { template: aTemplate({ version }) });
        expect(await world.until(() => phaseOf(world) === 'WaitingForApproval', 5 * MINUTE_MS)).toBe(true);
        await world.people.rollout('web', 'promote');
        expect(await world.until(() => phaseOf(world) === 'Complete', 5 * MINUTE_MS)).toBe(true);
        await world.wait(5 * MINUTE_MS);
      }
      expect(receiver.tries).toBeLessThan(40);
      const runs = world.temporal.past.filter(({ type }) => type === 'notifications');
      expect(runs.reduce((sum, { events }) => sum + events, 0)).toBeLessThan(1_000);
      receiver.told.length = 0;
      receiver.answer = () => ({ outcome: 'Taken' });
      await world.wait(10 * MINUTE_MS);
      expect(receiver.told.map(({ type }) => type)).toEqual(
        Array.from({ length: 6 }, () => ['dev.drover.rollout.waiting', 'dev.drover.rollout.waiting.ended']).flat(),
      );
    },
    { post: receiver.post },
  );
});

test('a budget that is full is told after an hour, and its end a minute after it, though runs end all the time', () => {
  const receiver = new ModelReceiver();
  return play(
    async (world) => {
      receiver.told.length = 0;
      const events = eventsIn(world);
      await begun(world, { replicas: 3, maxUnavailable: 1, rollout: { progressDeadlineSeconds: 60, maxFailures: 5 } });
      crashLoop(world, 'web-3');
      await world.wait(MINUTE_MS);
      const template = aTemplate({ version: 2, failsToStart: true });
      await world.people.changePool('web', { template });
      const isHeld = (): boolean => phaseOf(world) === 'ProgressDeadlineExceeded';
      expect(await world.until(isHeld, 20 * MINUTE_MS)).toBe(true);
      const since = world.time.now;
      await world.wait(HOUR_MS - 4 * MINUTE_MS);
      expect(receiver.ids('dev.drover.budget.full')).toEqual([]);
      await world.wait(5 * MINUTE_MS);
      expect(receiver.ids('dev.drover.budget.full')).toHaveLength(1);
      expect(Date.parse(receiver.told[0]!.data['since'] as string)).toBeLessThanOrEqual(since);
      expect(events.size).toBe(1);
      await world.people.changePool('web', { template: aTemplate({ version: 3 }), maxUnavailable: 3 });
      expect(await world.until(() => phaseOf(world) === 'Complete', 20 * MINUTE_MS)).toBe(true);
      await world.wait(2 * MINUTE_MS);
      expect(receiver.told.map(({ type }) => type)).toEqual(['dev.drover.budget.full', 'dev.drover.budget.full.ended']);
    },
    { post: receiver.post, longHistory: 20 },
  );
});

test('a budget that is full for less than an hour begins no workflow that tells receivers', () => {
  const receiver = new ModelReceiver();
  return play(
    async (world) => {
      await begun(world, { replicas: 3, maxUnavailable: 1, rollout: { progressDeadlineSeconds: 60, maxFailures: 5 } });
      crashLoop(world, 'web-3');
      await world.wait(MINUTE_MS);
      await world.people.changePool('web', { template: aTemplate({ version: 2, failsToStart: true }) });
      expect(await world.until(() => statusOf(world)?.budgetFullSince !== undefined, 20 * MINUTE_MS)).toBe(true);
      await world.wait(HOUR_MS / 2);
      await world.people.changePool('web', { template: aTemplate({ version: 3 }), maxUnavailable: 3 });
      expect(await world.until(() => phaseOf(world) === 'Complete', 20 * MINUTE_MS)).toBe(true);
      const runs = [...world.temporal.past, ...world.temporal.runs.values()];
      expect(runs.filter(({ type }) => type === 'notifications')).toEqual([]);
    },
    { post: receiver.post },
  );
});
