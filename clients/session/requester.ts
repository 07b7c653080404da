import { hostname, userInfo } from 'node:os';
import { SelfSubjectReviews } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { plain } from '../cli/print.ts';

/** The longest name that a pool's status accepts. */
const LONGEST = 256;

const known = new WeakMap<KubeClient, Promise<string | undefined>>();

/**
 * Returns who asks for a change, for users who read it later: $DROVER_REQUESTED_BY, the user name that the API server
 * knows, or `<user>@<host>` if the API server doesn't say. This proves nothing: the environment may claim any name. A
 * client that impersonates a user asks in that name, whatever the environment of the server says that it is part of.
 */
export async function requestedBy(
  kube: () => Promise<KubeClient>,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const impersonated = await kube().then(
    (client) => client.impersonated?.user,
    () => undefined,
  );
  const given = impersonated ?? plain(environment['DROVER_REQUESTED_BY'] ?? '').trim();
  const name = given === '' ? ((await usernameIn(kube)) ?? `${userName()}@${hostname()}`) : given;
  return plain(name).slice(0, LONGEST);
}

/**
 * Returns who asks something of a pool: the user that the API server knows, which a policy of drover's compares;
 * `<user>@<host>` if the API server doesn't say.
 */
export const userOf = async (kube: KubeClient): Promise<string> =>
  (await usernameIn(() => Promise.resolve(kube))) ?? `${userName()}@${hostname()}`;

/** Returns the name that `kubectl auth whoami` shows. Never throws: an unknown user may still act. */
export async function usernameIn(kube: () => Promise<KubeClient>): Promise<string | undefined> {
  try {
    const client = await kube();
    if (client.impersonated !== undefined) return client.impersonated.user;
    const user = known.get(client) ?? whoAmI(client).then(({ user }) => user);
    known.set(client, user);
    return await user;
  } catch {
    return undefined;
  }
}

interface SelfSubjectReview {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  status?: { userInfo?: { username?: string; groups?: string[] } };
  [field: string]: unknown;
}

/** Returns for whom the API server takes this client, as `kubectl auth whoami` shows it. */
export async function whoAmI(client: KubeClient): Promise<{ user: string | undefined; groups: string[] }> {
  const review: SelfSubjectReview = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    metadata: { name: '' },
  };
  const { status } = await client.create<SelfSubjectReview>(SelfSubjectReviews, review);
  return { user: status?.userInfo?.username || undefined, groups: status?.userInfo?.groups ?? [] };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user without a name.
    return String(process.getuid?.() ?? 'unknown');
  }
}
