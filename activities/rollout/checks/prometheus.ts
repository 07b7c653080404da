import type { KubeObject } from '../../../api/objects.ts';
import type { StepCheck } from '../../../api/pool/pool.ts';
import { Secrets } from '../../../api/resources.ts';
import type { Look } from '../../../decisions/rollout/checks/check.ts';
import { lookAtAnswer } from '../../../decisions/rollout/checks/prometheus-answer.ts';
import type { KubeClient } from '../../../kubernetes/client.ts';
import { isNotFound, KubeError } from '../../../kubernetes/errors.ts';
import { isAllowed } from './addresses.ts';
import type { Answer, PrometheusQuery, Credentials } from './query-prometheus.ts';

/** A Secret of another type was not made for this: the author of a pool could have any other sent anywhere. */
const SECRET_TYPE = 'drover.dev/prometheus';

export interface PrometheusOptions {
  client: KubeClient;
  /** URLs that may be asked, and all below them. */
  addresses: readonly string[];
  runQuery: (query: PrometheusQuery) => Promise<Answer>;
}

/** Returns what the value of a query says about a check of a pool in this namespace. */
export async function lookByPrometheus(
  { client, addresses, runQuery }: PrometheusOptions,
  namespace: string,
  { address, query, secretName, ...range }: NonNullable<StepCheck['prometheus']>,
  signal: AbortSignal,
): Promise<Look> {
  if (!isAllowed(address, addresses))
    return unknown(`${address} is not among the addresses that the workers may ask (DROVER_CHECK_ADDRESSES)`);
  const credentials = secretName === undefined ? {} : await credentialsIn(client, { namespace, name: secretName });
  if (typeof credentials === 'string') return unknown(credentials);
  try {
    return lookAtAnswer(await runQuery({ address, query, ...credentials, signal }), range);
  } catch (error) {
    signal.throwIfAborted();
    return unknown(`${new URL(address).origin} does not answer: ${reasonOf(error)}`);
  }
}

const unknown = (message: string): Look => ({ outcome: 'Unknown', message });

/** The system's own word for what went wrong, or else the message. */
function reasonOf(error: unknown): string {
  const { message, code, name } = error as Partial<Error & { code: unknown }>;
  if (name === 'TimeoutError') return 'it takes longer than 10 s';
  return typeof code === 'string' ? `${code}: ${message}` : (message ?? String(error));
}

type Secret = KubeObject & { type?: string; data?: Record<string, string> };

/** Returns what a Secret holds for a Prometheus, or why it can't be used. */
async function credentialsIn(
  client: KubeClient,
  key: { namespace: string; name: string },
): Promise<Credentials | string> {
  try {
    const { type, data = {} } = await client.get<Secret>(Secrets, key);
    if (type !== SECRET_TYPE) return `Secret ${key.name} is not of the type ${SECRET_TYPE}`;
    const text = (name: string): string | undefined =>
      data[name] === undefined ? undefined : Buffer.from(data[name], 'base64').toString().trim();
    return { token: text('token'), ca: text('ca.crt'), cert: text('tls.crt'), key: text('tls.key') };
  } catch (error) {
    if (isNotFound(error)) return `Secret ${key.name} does not exist`;
    if (error instanceof KubeError && error.status === 403)
      return `the worker may not read Secret ${key.name}: it needs the right to get it`;
    throw error;
  }
}
