import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { resolve } from 'node:path';
import { ApplicationFailure } from '@temporalio/common';
import { MockActivityEnvironment } from '@temporalio/testing';
import { Ajv } from 'ajv';
import { Webhook } from 'standardwebhooks';
import { afterEach, expect, test } from 'vitest';
import { cloudEventOf } from '../../../activities/notifications/cloud-event.ts';
import { createNotificationActivities, type Delivered } from '../../../activities/notifications/notifications.ts';
import { postByHttp } from '../../../activities/notifications/post.ts';
import type { Receiver } from '../../../api/notifications/receivers.ts';
import { eventIdOf, type Outgoing } from '../../../decisions/notifications/outbox.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { certificates } from '../../certificates.ts';
import { TestReceiver } from './test-receiver.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

const outgoing = (n: number, phase: Outgoing['phase'] = 'began'): Outgoing => ({
  type: 'dev.drover.rollout.waiting',
  id: `${n}`.padStart(32, '0'),
  phase,
  at: Date.UTC(2026, 0, 1, 11),
  about: { kind: 'VirtualMachinePool', namespace: 'shop', name: 'web', uid: 'a-uid' },
  which: 'abc/0',
  since: '2026-01-01T10:00:00.000Z',
  reason: 'WaitingForApproval',
  message: 'step 1 of 2 is reached: it waits for `drover rollout promote`',
  command: 'drover rollout promote pool web -n shop',
});

/** What CloudEvents 1.0 asks of an event in JSON. */
const isCloudEvent = new Ajv().compile({
  type: 'object',
  required: ['id', 'source', 'specversion', 'type'],
  properties: {
    specversion: { const: '1.0' },
    id: { type: 'string', minLength: 1 },
    source: { type: 'string', pattern: '^/[\\w/.-]+$' },
    type: { type: 'string', pattern: '^dev\\.drover\\.' },
    subject: { type: 'string', minLength: 1 },
    time: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z$' },
    datacontenttype: { const: 'application/json' },
    data: { type: 'object' },
  },
  propertyNames: { pattern: '^[a-z0-9]{1,20}$' },
});

const counted: Record<string, number> = {};
afterEach(() => {
  for (const outcome of Object.keys(counted)) delete counted[outcome];
});

function activitiesFor(...receivers: Receiver[]) {
  return createNotificationActivities({
    client: {} as KubeClient,
    cache: {} as never,
    cluster: 'default',
    receivers: () => receivers,
    post: postByHttp(),
    onNotified: (_receiver, outcome, count) => void (counted[outcome] = (counted[outcome] ?? 0) + count),
  });
}

const ops = ({ url }: { url: string }, more: Partial<Receiver> = {}): Receiver => ({
  name: 'ops',
  url,
  secrets: [SECRET],
  batch: false,
  ...more,
});

const deliver = (receiver: Receiver, events: Outgoing[], attempt = 1): Promise<Delivered> =>
  new MockActivityEnvironment({ attempt }).run(activitiesFor(receiver).deliver, 'ops', events);

async function failureOf(delivery: Promise<unknown>): Promise<ApplicationFailure> {
  const error: unknown = await delivery.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(ApplicationFailure);
  return error as ApplicationFailure;
}

test('a notice is a CloudEvent, signed for Standard Webhooks, under one id whenever it is sent', async () => {
  const receiver = await TestReceiver.begin();
  const events = [outgoing(1), outgoing(1, 'ended')];
  for (let n = 0; n < 2; n++)
    expect(await deliver(ops(receiver), events)).toEqual({
      ids: events.map(eventIdOf),
      refused: null,
      isUnknown: false,
    });
  const told = receiver.heard.map(({ headers, body }) => {
    const event = JSON.parse(body) as Record<string, unknown>;
    expect(headers['content-type']).toContain('application/cloudevents+json');
    expect([isCloudEvent(event), isCloudEvent.errors]).toEqual([true, null]);
    expect(new Webhook(SECRET).verify(body, headers as Record<string, string>)).toMatchObject({ id: event['id'] });
    expect(headers['webhook-id']).toBe(event['id']);
    return event;
  });
  expect(receiver.heard[0]!.path).toBe('/drover?token=t');
  expect(told.map((event) => event['id'])).toEqual([...events, ...events].map(eventIdOf));
  expect(told[0]).toMatchObject({
    type: 'dev.drover.rollout.waiting',
    source: '/drover/default/namespaces/shop/virtualmachinepools/web',
    subject: 'web',
    time: '2026-01-01T10:00:00.000Z',
    data: { uid: 'a-uid', reason: 'WaitingForApproval', command: 'drover rollout promote pool web -n shop' },
  });
  expect(told[1]).toMatchObject({
    type: 'dev.drover.rollout.waiting.ended',
    time: '2026-01-01T11:00:00.000Z',
    data: { began: outgoing(1).id },
  });
  expect(counted).toEqual({ Taken: 4 });
});

test('a receiver accepts the signature of either secret while secrets change, and none of another body or time', async () => {
  const receiver = await TestReceiver.begin();
  const other = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  await deliver(ops(receiver, { secrets: [other, SECRET] }), [outgoing(1)]);
  const [{ headers, body }] = receiver.heard as [(typeof receiver.heard)[0]];
  for (const secret of [SECRET, other]) new Webhook(secret).verify(body, headers as Record<string, string>);
  expect(() => new Webhook(SECRET).verify(`${body} `, headers as Record<string, string>)).toThrow(/signature/);
  const late: IncomingHttpHeaders = {
    ...headers,
    'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 3_600),
  };
  expect(() => new Webhook(SECRET).verify(body, late as Record<string, string>)).toThrow(/too old/);
});

test('a batch is one request, for receivers that take it', async () => {
  const receiver = await TestReceiver.begin();
  await deliver(ops(receiver, { batch: true, authorization: 'Bearer b' }), [outgoing(1), outgoing(2)]);
  const [heard, ...others] = receiver.heard;
  expect(others).toEqual([]);
  expect(heard!.headers).toMatchObject({
    'content-type': expect.stringContaining('application/cloudevents-batch+json') as string,
    authorization: 'Bearer b',
  });
  expect(receiver.events).toMatchObject([{ id: outgoing(1).id }, { id: outgoing(2).id }]);
});

test.each([
  [{ status: 500 }, 'answers 500', 1_000],
  [{ status: 503, headers: { 'retry-after': '120' } }, 'answers 503', 120_000],
  [{ status: 429, headers: { 'retry-after': '7' } }, 'answers 429', 7_000],
  [{ status: 429, headers: { 'retry-after': '86400' } }, 'answers 429', 1_800_000],
  [{ status: 401 }, 'answers 401', 1_000],
  [{ status: 404 }, 'answers 404', 1_000],
])('an answer %j is tried again, when the receiver says so', async (answer, why, delay) => {
  const receiver = await TestReceiver.begin();
  receiver.answer = () => answer;
  const failure = await failureOf(deliver(ops(receiver), [outgoing(1)]));
  expect(failure.message).toMatch(new RegExp(`^receiver ops: http://127.0.0.1:\\d+ ${why}$`));
  expect(failure.nextRetryDelay).toBe(delay);
  expect(counted).toEqual({ Failed: 1 });
});

test('tries come later and later, but at least every five minutes', async () => {
  const receiver = await TestReceiver.begin();
  const gone = { url: receiver.url };
  receiver.end();
  const delays = [1, 2, 5, 30].map(async (attempt) => {
    const failure = await failureOf(deliver(ops(gone), [outgoing(1)], attempt));
    expect(failure.message).toContain('does not answer');
    return failure.nextRetryDelay;
  });
  expect(await Promise.all(delays)).toEqual([1_000, 2_000, 16_000, 300_000]);
});

test('a redirect is not followed, and nothing is sent where it leads', async () => {
  const [receiver, elsewhere] = [await TestReceiver.begin(), await TestReceiver.begin()];
  receiver.answer = () => ({ status: 307, headers: { location: elsewhere.url } });
  const failure = await failureOf(deliver(ops(receiver), [outgoing(1)]));
  expect(failure.message).toContain('redirects are not followed');
  expect(failure.message).not.toContain('token');
  expect(elsewhere.heard).toEqual([]);
});

test('a notice that a receiver refuses holds up none after it, also in a batch', async () => {
  for (const batch of [false, true]) {
    const receiver = await TestReceiver.begin();
    receiver.answer = ({ body }) => ({ status: body.includes(outgoing(2).id) ? 400 : 204 });
    const events = [1, 2, 3].map((n) => outgoing(n));
    const { ids, refused } = await deliver(ops(receiver, { batch }), events);
    expect(ids.toSorted()).toEqual(events.map(eventIdOf));
    expect(refused).toMatchObject({
      count: 1,
      first: { id: outgoing(2).id },
      message: expect.stringContaining('400') as string,
    });
  }
});

test('an event that was delivered before a failure is not sent again', async () => {
  const receiver = await TestReceiver.begin();
  receiver.answer = ({ body }) => ({ status: body.includes(outgoing(2).id) ? 503 : 204 });
  expect(await deliver(ops(receiver), [outgoing(1), outgoing(2), outgoing(3)])).toMatchObject({
    ids: [outgoing(1).id],
  });
  expect(receiver.heard).toHaveLength(2);
});

test('TLS needs an authority that is trusted: that of the machine, or that of the receiver', async () => {
  const { ca, server } = await certificates();
  const receiver = await TestReceiver.begin({ tls: server });
  expect((await failureOf(deliver(ops(receiver), [outgoing(1)]))).message).toContain('does not answer');
  expect(receiver.heard).toEqual([]);
  expect(await deliver(ops(receiver, { ca }), [outgoing(1)])).toMatchObject({ ids: [outgoing(1).id] });
});

test('a receiver that does not answer in time is tried again', async () => {
  const receiver = await TestReceiver.begin();
  receiver.answer = () => 'never';
  const posted = await postByHttp(100)(ops(receiver), { headers: {}, body: '{}' });
  expect(posted).toMatchObject({ outcome: 'Failed', message: expect.stringContaining('does not answer') as string });
  expect(receiver.heard).toHaveLength(1);
});

test('a receiver has answered with its status, though its answer does not end', async () => {
  const receiver = await TestReceiver.begin();
  receiver.answer = () => 'endless';
  expect(await postByHttp(500)(ops(receiver), { headers: {}, body: '{}' })).toEqual({ outcome: 'Taken' });
}, 5_000);

test('a receiver that this worker does not know may be known to another: it is tried for ten minutes', async () => {
  const { deliver } = activitiesFor();
  const run = (scheduledTimestampMs: number): Promise<unknown> =>
    new MockActivityEnvironment({ scheduledTimestampMs }).run(deliver, 'ops', [outgoing(1)]);
  expect((await failureOf(run(Date.now()))).message).toContain('no such receiver');
  expect(await run(Date.now() - 700_000)).toMatchObject({ isUnknown: true });
});

test('the event in the docs is what receivers get', () => {
  const docs = readFileSync(resolve(import.meta.dirname, '../../../docs/notifications.md'), 'utf8');
  const [, shown] = /```json\n([^]*?)\n```/.exec(docs)!;
  expect(JSON.parse(shown!)).toEqual(cloudEventOf('default', outgoing(1)));
});
