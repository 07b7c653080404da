import { expect, test } from 'vitest';
import { TRACEPARENT_ANNOTATION } from '../../../api/labels-and-annotations.ts';
import { CommandTraces } from '../../../workers/tracing/command-traces.ts';
import { openTracer } from '../../../workers/tracing/tracing.ts';
import { aPool } from '../../decisions/fixtures/fleets.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const HOUR = 3_600_000;
const pool = aPool();
const noted = {
  ...pool,
  metadata: { ...pool.metadata, annotations: { [TRACEPARENT_ANNOTATION]: TRACE } },
};
const WORKFLOW = `pool/default/${pool.metadata.namespace}/${pool.metadata.name}`;

test('acts of a workflow and its children within an hour of the change belong to the trace of the command', () => {
  const traces = new CommandTraces('default');
  traces.hear({ kind: 'pool', before: pool, after: noted }, () => true, 0);
  expect(traces.of(WORKFLOW, HOUR - 1)).toBe(TRACE);
  expect(traces.of(`${WORKFLOW}/update/abc/1`, HOUR - 1)).toBe(TRACE);
  expect(traces.of(`${WORKFLOW}-2`, 1)).toBeUndefined();
  expect(traces.of(WORKFLOW, HOUR)).toBeUndefined();
});

test('an annotation that is old, or is written again, begins no trace', () => {
  const traces = new CommandTraces('default');
  traces.hear({ kind: 'pool', before: undefined, after: noted }, () => false, 0);
  traces.hear({ kind: 'pool', before: noted, after: { ...noted } }, () => true, 0);
  expect(traces.of(WORKFLOW, 1)).toBeUndefined();
});

test('a worker without the variables of OpenTelemetry has no tracer', async () => {
  expect(await openTracer('drover')).toBeUndefined();
});
