import { describe, expect, test } from 'vitest';
import type { PoolSpec } from '../../../api/pool/pool.ts';
import { userOf } from '../../../clients/session/requester.ts';
import { revisionOf } from '../../../decisions/template/revision.ts';
import { testOneOf } from '../../soak.ts';
import { aFleet, until } from '../fleet.ts';
import { HeldVmis } from '../power/held-vmis.ts';
import { approvalAt, badTemplate, revisionIn, templateOf, TestPool, waitAt } from './rollouts.ts';

const fleet = aFleet();

const first = revisionOf(templateOf());
const aPool = (spec: Partial<PoolSpec> = {}): Promise<TestPool> =>
  TestPool.ready(fleet(), { replicas: 4, maxUnavailable: 1, ...spec });

/** Holds the VMIs of the pool: what follows happens while the first VM is in progress. */
const held = ({ namespace }: TestPool): Promise<HeldVmis> => HeldVmis.of(fleet(), namespace);

describe('a pause', () => {
  test('lets the VM in progress come back and starts no other, while the pool still scales', async () => {
    const asked = { reason: 'lunch' };
    const pool = await aPool();
    const before = await pool.vmiUids();
    const vmis = await held(pool);
    const next = await pool.change(templateOf({ cores: 2 }));
    const taken = await vmis.next();
    await pool.request('pause', asked);
    await pool.untilSaid({ Paused: 'PausedByUser', Progressing: 'Paused' });
    expect((await pool.condition('Paused'))!.message).toBe(`by ${await userOf(fleet().kube)}: lunch`);
    await vmis.letGo();
    await until(async () => {
      expect(await pool.inProgress()).toEqual([]);
      expect(await pool.running(next)).toEqual([taken]);
    });

    await pool.patch({ replicas: 5 });
    await pool.until({
      replicas: 5,
      readyReplicas: 5,
      updatedReplicas: 1,
      currentRevision: first,
      updateRevision: next,
    });
    expect(await pool.revisions()).toMatchObject({ 'web-5': [first, first] });
    const { [taken]: _taken, 'web-5': _new, ...others } = await pool.vmiUids();
    expect(before).toMatchObject(others);

    await pool.request('resume', asked);
    await pool.untilComplete(next);
    await pool.untilSaid({ Paused: 'NotPaused' });
  });

  // Temporal's Web UI sends no arguments, or null.
  test.each([{ args: [] }, { args: [null] }])('is requested by a signal with $args', async ({ args }) => {
    const pool = await aPool({ replicas: 1 });
    await pool.workflow.signal('pause', ...args);
    await pool.untilSaid({ Paused: 'PausedByUser' });
    expect((await pool.condition('Paused'))!.message).toBe('by unknown (a signal)');
    await pool.workflow.signal('resume', ...args);
    await pool.untilSaid({ Paused: 'NotPaused' });
  });

  test('by the spec in the middle leaves a crashed VM with the revision that it had, taken or not', async () => {
    const pool = await aPool();
    const vmis = await held(pool);
    const next = await pool.change(templateOf({ cores: 2 }));
    const taken = await vmis.next();
    await pool.patch({ paused: true });
    await pool.untilSaid({ Progressing: 'Paused' });
    await vmis.letGo();
    await until(async () => expect(await pool.running(next)).toEqual([taken]));
    await pool.until({ readyReplicas: 4, updatedReplicas: 1 });
    const [left = ''] = await pool.running(first);
    await Promise.all([pool.crash(taken), pool.crash(left)]);
    await pool.until({ readyReplicas: 4, updatedReplicas: 1 });
    expect(await pool.revisions()).toMatchObject({ [taken]: [next, next], [left]: [first, first] });
  });
});

describe('steps', () => {
  test('wait for a user, then for a time, and new VMs keep the verified revision until the last', async () => {
    const pool = await aPool({ rollout: { steps: [approvalAt(1), waitAt('50%', '3s'), approvalAt('75%')] } });
    const next = await pool.change(templateOf({ cores: 2 }));
    await pool.untilSaid({ Progressing: 'WaitingForApproval' });
    await pool.until({ readyReplicas: 4, updatedReplicas: 1, rollout: { step: 0 } });
    await pool.patch({ replicas: 5 });
    await pool.until({ readyReplicas: 5, updatedReplicas: 1 });
    expect(revisionIn(await pool.vm('web-5'))).toBe(first);
    await pool.patch({ replicas: 4 });
    await pool.until({ replicas: 4 });

    await pool.request('promote');
    const reached = { step: 1, stepReachedAt: expect.any(String) as string };
    const { rollout } = await pool.until({ updatedReplicas: 2, rollout: reached }, { Progressing: 'WaitingAtStep' });
    await pool.until({ updatedReplicas: 3, rollout: { step: 2 } });
    await pool.untilSaid({ Progressing: 'WaitingForApproval' });
    const third = Date.parse((await pool.status()).rollout!.stepReachedAt!);
    expect(third - Date.parse(rollout!.stepReachedAt!)).toBeGreaterThan(3_000);
    await pool.request('promote');
    await pool.untilComplete(next);
    const approvals = (await pool.events()).filter(({ reason }) => reason === 'WaitingForApproval');
    expect(approvals.map(({ note }) => note)).toEqual([
      expect.stringMatching(/^step 1 of 3 .*`drover rollout promote pool /),
      expect.stringMatching(/^step 3 of 3 .*`drover rollout promote pool /),
    ]);
  });
});

describe('failures', () => {
  const deadline = { progressDeadlineSeconds: 2 };
  /** For tests in which VMs must also become ready: a busy machine may need more than `deadline`. */
  const longer = { progressDeadlineSeconds: 5 };
  /** For good templates: their VMs have all the time they need. */
  const noHurry = { rollout: {} };

  testOneOf({
    'end the rollout under Pause if a VM is not ready in time, and the next template begins with that VM': async () => {
      const pool = await aPool({ rollout: deadline });
      const before = await pool.vmiUids();
      const bad = await pool.change(badTemplate(2));
      await pool.untilSaid({ Progressing: 'Failed', Degraded: 'Failed' });
      const [broken = ''] = await pool.running(bad);
      const { message = '' } = (await pool.condition('Degraded'))!;
      expect(message).toContain(broken);
      expect(message).toContain('not ready');
      expect((await pool.status()).rollout).toMatchObject({
        halted: { kind: 'Failed', by: 'drover' },
        failures: [{ vm: broken }],
      });
      expect(await pool.events()).toContainEqual({
        reason: 'FailedUpdate',
        note: expect.stringContaining(`${broken}: not ready in time`) as string,
      });
      // New VMs get the proven template.
      await pool.patch({ replicas: 5 });
      await pool.until({ replicas: 5, readyReplicas: 4, currentRevision: first, updateRevision: bad });
      const { [broken]: _broken, 'web-5': _new, ...others } = await pool.vmiUids();
      expect(before).toMatchObject(others);
      expect(await pool.running(bad)).toEqual([broken]);

      const watch = await pool.watched();
      const good = await pool.change(templateOf({ cores: 3 }), noHurry);
      await pool.untilComplete(good);
      await pool.untilSaid({ Degraded: 'NoFailures' });
      await watch.caughtUp();
      expect(watch.log.mostUnavailable()).toBe(1);
      expect(watch.log.restartsOf(broken)).toHaveLength(1);
    },
    'bring the VMs back to the revision that they had under Undo': async () => {
      const pool = await aPool({ rollout: { ...longer, onFailure: 'Undo' } });
      const before = await pool.vmiUids();
      const bad = await pool.change(badTemplate(2));
      await pool.untilSaid({ Progressing: 'Undone', Degraded: 'Undone' });
      await pool.until({ readyReplicas: 4, updatedReplicas: 0, currentRevision: first, updateRevision: bad });
      expect(Object.values(await pool.revisions())).toEqual(Array.from({ length: 4 }, () => [first, first]));
      const after = await pool.vmiUids();
      expect(Object.keys(before).filter((name) => before[name] !== after[name])).toHaveLength(1);
      expect((await pool.condition('Degraded'))!.message).toMatch(/web-\d/);

      const good = await pool.change(templateOf({ cores: 3 }), noHurry);
      await pool.untilComplete(good);
    },
  });
});

describe('windows', () => {
  test('delay a rollout while none is open, which is reported with the next', async () => {
    const pool = await aPool({ rollout: { windows: [{ cron: '0 0 1 1 *', duration: '1m' }] } });
    const before = await pool.vmiUids();
    const next = await pool.change(templateOf({ cores: 2 }));
    await pool.untilSaid({ Progressing: 'WaitingForWindow' });
    expect((await pool.condition('Progressing'))!.message).toMatch(/opens at \d{4}-01-01T00:00:00.000Z/);
    expect(await pool.vmiUids()).toEqual(before);
    await pool.patch({ rollout: { windows: null } });
    await pool.untilComplete(next);
  });
});
