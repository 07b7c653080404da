import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { CoreEvents } from '../../../api/resources.ts';
import { notificationsIdOf } from '../../../workflows/lib/messages.ts';
import { TestReceiver } from '../../activities/notifications/test-receiver.ts';
import { certificates } from '../../certificates.ts';
import { droverHere } from '../../clients/in-process.ts';
import { needs } from '../../cluster/given/needs.ts';
import { aFleet, until } from '../fleet.ts';
import { approvalAt, templateOf, TestPool } from '../rollout/rollouts.ts';

const fleet = aFleet({ workers: 0 });

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** A file with one receiver, signed and over TLS. */
function webhooks(url: string, ca: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'drover-webhooks-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'webhooks.yaml');
  writeFileSync(path, JSON.stringify({ receivers: [{ name: 'ops', url, secrets: [SECRET], ca }] }));
  return path;
}

test('a state that waits for a user is told once by Event and, though the receiver is down and the worker is killed, to the receiver', async () => {
  needs('an embedded stack');
  const { ca, server } = await certificates();
  const first = await TestReceiver.begin({ tls: server });
  const { port, url } = first;
  first.end();
  const env = { DROVER_WEBHOOKS: webhooks(url, ca) };
  const worker = await fleet().startWorker(env);
  const pool = await TestPool.ready(fleet(), { replicas: 2, rollout: { steps: [approvalAt(1)] } });
  await pool.change(templateOf({ cores: 2 }));
  await pool.untilSaid({ Progressing: 'WaitingForApproval' });
  const workflow = fleet().temporal.client.workflow.getHandle(notificationsIdOf('default'));
  await until(async () => {
    const { raw } = await workflow.describe();
    expect(raw.pendingActivities?.[0]?.lastFailure?.message).toMatch(/^receiver ops: https:.* does not answer/);
  });
  // The rollout goes on, and the next worker knows what is to be told.
  await worker.kill();
  const receiver = await TestReceiver.begin({ tls: server, port });
  const answers = [{ status: 500 }, { status: 429, headers: { 'retry-after': '1' } }];
  receiver.answer = () => answers.shift() ?? {};
  await fleet().startWorker(env);
  await until(async () => expect(receiver.heard.length).toBeGreaterThanOrEqual(3));
  const [event] = receiver.events;
  expect(event).toMatchObject({
    type: 'dev.drover.rollout.waiting',
    subject: 'web',
    data: { namespace: pool.namespace, name: 'web', reason: 'WaitingForApproval' },
  });
  expect(new Set(receiver.events.map(({ id }) => id)).size).toBe(1);
  for (const { headers, body } of receiver.heard) new Webhook(SECRET).verify(body, headers as Record<string, string>);
  const { items } = await fleet().kube.list(CoreEvents, { namespace: pool.namespace });
  expect(items.filter((one) => one['reason'] === 'WaitingForApproval')).toMatchObject([
    {
      type: 'Warning',
      involvedObject: { name: 'web' },
      message: expect.stringContaining('drover rollout promote') as string,
    },
  ]);
  const { stdout } = await droverHere(['doctor', '--send', '-o', 'json'], fleet().stack.env);
  expect((JSON.parse(stdout) as { items: object[] }).items).toContainEqual({
    check: 'Notifications',
    outcome: 'OK',
    message: 'receiver ops has taken an event that says nothing',
  });
  expect(receiver.events.at(-1)).toMatchObject({ type: 'dev.drover.test' });
});
