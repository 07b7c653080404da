import { asSpan, openTracer } from '../../workers/tracing/tracing.ts';

/** These run for long, and what they do belongs to the commands of others; or no user asked for them. */
const UNTRACED = new Set(['worker', 'dev', 'complete', 'completion']);

/** Runs a command as the first span of a trace, if the environment asks for traces. */
export async function traced(args: readonly string[], work: () => Promise<unknown>): Promise<void> {
  const [first] = args;
  const tracer = first === undefined || UNTRACED.has(first) ? undefined : await openTracer('drover');
  if (tracer === undefined) return void (await work());
  const start = { name: `drover ${args.join(' ')}`, kind: 'internal', parent: undefined, attributes: {} } as const;
  try {
    await asSpan(tracer, start, work);
  } finally {
    await tracer.close();
  }
}
