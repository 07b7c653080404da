import type { Client } from '@temporalio/client';
import { defaultPayloadConverter, toPayloads, type Payload } from '@temporalio/common';
import { expect, test } from 'vitest';
import { inputOfRun } from '../../../activities/power/chosen-vms.ts';

const payloads = (...values: unknown[]) => ({ payloads: toPayloads(defaultPayloadConverter, ...values) });
const started = (...args: unknown[]) => ({
  eventId: 1,
  workflowExecutionStartedEventAttributes: { input: payloads(...args) },
});
const scheduled = (eventId: number, name: string) => ({
  eventId,
  activityTaskScheduledEventAttributes: { activityType: { name } },
});
const completed = (scheduledEventId: number, result: unknown) => ({
  eventId: scheduledEventId + 2,
  activityTaskCompletedEventAttributes: { scheduledEventId, result: payloads(result) },
});

/** A client of a server whose history of the run has these pages. */
function clientOf(pages: object[][], payloadCodecs: object[] = []): Client {
  const getWorkflowExecutionHistory = ({ nextPageToken = Uint8Array.of(0) }: { nextPageToken?: Uint8Array }) => {
    const next = nextPageToken[0]! + 1;
    const events = pages[next - 1];
    return Promise.resolve({ history: { events }, nextPageToken: Uint8Array.from(next < pages.length ? [next] : []) });
  };
  const loadedDataConverter = { payloadCodecs, payloadConverter: defaultPayloadConverter };
  return {
    workflowService: { getWorkflowExecutionHistory },
    options: { namespace: 'default', loadedDataConverter },
  } as unknown as Client;
}

const RUN = { workflowId: 'operation', runId: '1' };
const KEY = { cluster: 'c', namespace: 'shop', name: 'restart', uid: '1' };
const FIRST = { action: 'Restart', chosen: { count: 1, namespaces: ['shop'], digests: 'first' } };
const SECOND = { ...FIRST, chosen: { ...FIRST.chosen, digests: 'second' } };

test.each([
  ['a run that another has handed its choice', [[started(KEY, { input: FIRST, state: null })]], FIRST],
  [
    'one that has chosen itself, after a pause',
    [
      [started(KEY), scheduled(5, 'beginOperation'), completed(5, { is: 'paused' })],
      [scheduled(11, 'beginOperation'), scheduled(12, 'changePower')],
      [completed(12, { is: 'run', input: SECOND }), completed(11, { is: 'run', input: FIRST })],
    ],
    FIRST,
  ],
  [
    'one that is to begin anew, and another after that',
    [
      [
        started(KEY, null, null),
        scheduled(5, 'beginOperation'),
        completed(5, { is: 'run', input: FIRST }),
        scheduled(11, 'beginOperation'),
        completed(11, { is: 'run', input: SECOND }),
      ],
    ],
    FIRST,
  ],
  ['one that has not begun', [[started(KEY), scheduled(5, 'beginOperation')]], undefined],
])('the chosen VMs of a run are read from its history: %s', async (_what, pages, input) =>
  expect(await inputOfRun(clientOf(pages), RUN)).toEqual(input),
);

const flipped = (some: Payload[]) => some.map((one) => ({ ...one, data: one.data?.toReversed() ?? null }));

test('what a run has chosen is decoded as all of its payloads are', async () => {
  const [encoded] = flipped(toPayloads(defaultPayloadConverter, { is: 'run', input: FIRST }) ?? []);
  const done = {
    eventId: 7,
    activityTaskCompletedEventAttributes: { scheduledEventId: 5, result: { payloads: [encoded] } },
  };
  const start = { eventId: 1, workflowExecutionStartedEventAttributes: { input: { payloads: [] } } };
  const codec = { decode: (some: Payload[]) => Promise.resolve(flipped(some)) };
  expect(await inputOfRun(clientOf([[start, scheduled(5, 'beginOperation'), done]], [codec]), RUN)).toEqual(FIRST);
});
