import { hostname, userInfo } from 'node:os';
import { SelfSubjectReviews } from '../../api/resources.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { plain } from '../cli/output.ts';

/** What a pool's status takes. */
const LONGEST = 256;

interface SelfSubjectReview {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  status?: { userInfo?: { username?: string } };
  [field: string]: unknown;
}

const known = new WeakMap<KubeClient, Promise<string | undefined>>();

/**
 * Who asks for a change, for the people who read it later: $DROVER_ASKED_BY, or the user as the API server knows them,
 * or `<user>@<host>` if the API server doesn't say. No proof of anything: the environment may claim any name.
 */
export async function askedBy(
  kube: () => Promise<KubeClient>,
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string> {
  const given = plain(environment['DROVER_ASKED_BY'] ?? '').trim();
  const name = given === '' ? ((await usernameIn(kube)) ?? `${userName()}@${hostname()}`) : given;
  return plain(name).slice(0, LONGEST);
}

/** As `kubectl auth whoami` shows it. Never throws: that nobody is known must not keep anybody from acting. */
async function usernameIn(kube: () => Promise<KubeClient>): Promise<string | undefined> {
  try {
    const client = await kube();
    const asking = known.get(client) ?? review(client);
    known.set(client, asking);
    return await asking;
  } catch {
    return undefined;
  }
}

async function review(client: KubeClient): Promise<string | undefined> {
  const asked: SelfSubjectReview = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
    metadata: { name: '' },
  };
  const { status } = await client.create<SelfSubjectReview>(SelfSubjectReviews, asked);
  return status?.userInfo?.username || undefined;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a user that has no name.
    return String(process.getuid?.() ?? 'unknown');
  }
}
