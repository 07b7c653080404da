import type { Stored } from '../../api/objects.ts';
import type { Pool } from '../../decisions/views/pool.ts';
import { ApiServerContact } from '../../kubernetes/api-server-contact.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { Failure } from '../cli/failure.ts';
import { KnownRevisions } from '../rollout/known-revisions.ts';
import { usernameIn } from '../session/requester.ts';
import type { Session } from '../session/session.ts';
import { kubernetesOf, kubevirtIn } from '../version/versions.ts';
import { askedOf } from './actions/asked.ts';
import { perform } from './actions/perform.ts';
import type { Session as SeenSession } from './contract/messages.ts';
import { Details } from './details/details.ts';
import { Fleet } from './fleet/fleet.ts';
import { READ_ONLY, Rights } from './fleet/rights.ts';
import { Sources } from './fleet/sources.ts';
import type { Answers } from './server/answer.ts';
import { Stream } from './server/stream.ts';

interface UserDashboardOptions {
  /** Where to look; undefined: everywhere that the user may see. */
  namespace: string | undefined;
  /** Where to look if the user may list neither pools nor namespaces in the whole cluster. */
  elsewhere?: readonly string[];
  isReadOnly: boolean;
  /** How long a browser's stream lasts before it must ask again, in milliseconds. */
  streamMs?: number;
  /** Called when the API server no longer lets the user see what it has let them see. */
  onRevoked?: () => void;
}

/** What one user sees and does: everything in it is read and done in the name of that user. */
export interface UserDashboard {
  answers: Answers;
  /** Follows what the user may see, until it is closed. */
  start: () => void;
  close: () => Promise<void>;
}

const LOOK_MS = 1_000;
const TOUCH_MS = 60_000;
const ASK_MS = 2_000;
const LEARN_MS = 1_000;
const LEARN_TRIES = 5;
/** How long the API server may not answer before the page says so, in milliseconds. */
const LOST_MS = 3_000;

/** Resolves once it can answer, which is before all is known. */
export async function openUserDashboard(session: Session, options: UserDashboardOptions): Promise<UserDashboard> {
  const kube = await session.kube();
  const { isReadOnly, namespace, streamMs } = options;
  const rights: Rights = new Rights(kube, { isReadOnly, onChange: () => fleet.touch() });
  const revisionsOf = revisionsIn(kube, (pool) => fleet.touch(pool));
  const fleet: Fleet = new Fleet({ whyNot: (what, where) => rights.whyNot(what, where), revisionsOf, now: Date.now });
  const sources: Sources = new Sources(kube, fleet, {
    onUnseen: () => stream.tell({ unseen: sources.unseen }),
    onRevoked: options.onRevoked,
  });
  const stream: Stream = new Stream(fleet, await seenSession(session, isReadOnly), streamMs);
  const details = new Details(session, fleet, rights);
  const elsewhere = options.elsewhere ?? [await session.namespace()];
  let timers: NodeJS.Timeout[] = [];
  let contact: ApiServerContact | undefined;
  return {
    answers: {
      read: {
        session: () => Promise.resolve(stream.session),
        vms: (words) => details.vm(words),
        owners: (words) => details.owner(words),
        nodes: (words) => details.node(words),
      },
      act: async (body) => {
        if (isReadOnly) throw new Failure(READ_ONLY);
        return perform(session, askedOf(body));
      },
      stream,
    },
    start: () => {
      stream.start();
      contact = followContact(stream, sources, () => kubernetesOf(kube));
      // Rights may be given and taken while nothing else changes.
      timers = [setInterval(() => fleet.tick(), LOOK_MS), setInterval(() => fleet.touch(), TOUCH_MS)];
      void sources
        .start(namespace, elsewhere)
        .then((namespaces) => {
          stream.tell({ namespaces });
          stream.synced();
        })
        .catch((error: unknown) => stream.tell({ state: 'reconnecting', why: (error as Error).message }));
      void learnVersions(kube, stream);
    },
    close: async () => {
      timers.forEach(clearInterval);
      stream.stop();
      await Promise.all([contact?.stop(), sources.stop()]);
    },
  };
}

/**
 * Numbers of revisions are in objects of their own, which may come a moment after the template. Only rollouts need
 * them: a fleet has hundreds of pools in which nothing happens.
 */
function revisionsIn(kube: KubeClient, onLearned: (pool: Stored<Pool>) => void) {
  const revisions = new KnownRevisions(kube);
  const asked = new Set<string>();
  const learn = async (pool: Stored<Pool>, tries = LEARN_TRIES): Promise<void> => {
    if (await revisions.catchUp(pool)) onLearned(pool);
    else if (tries > 1) setTimeout(() => void learn(pool, tries - 1), LEARN_MS).unref();
  };
  return (pool: Stored<Pool>) => {
    const key = `${pool.metadata.uid}/${pool.status?.updateRevision}`;
    const isAtRest = pool.status?.conditions?.some(
      ({ type, reason }) => type === 'Progressing' && reason === 'Complete',
    );
    if (isAtRest === true || asked.has(key)) return revisions.of(pool);
    asked.add(key);
    void learn(pool);
    return revisions.of(pool);
  };
}

async function seenSession(session: Session, isReadOnly: boolean): Promise<SeenSession> {
  const kube = await session.kube();
  return {
    type: 'session',
    user: (await usernameIn(() => Promise.resolve(kube))) ?? null,
    server: kube.server,
    state: 'live',
    since: new Date().toISOString(),
    why: null,
    namespaces: null,
    unseen: [],
    isReadOnly,
    versions: { drover: packageJson.version, kubernetes: null, kubevirt: null },
    temporalUi: (await session.temporalUi()) ?? null,
  };
}

/** Tells browsers when the API server does not answer, and when it does again. */
function followContact(stream: Stream, sources: Sources, ask: () => Promise<unknown>): ApiServerContact {
  const contact = new ApiServerContact({
    ask,
    behindMs: () => sources.behindMs,
    everyMs: ASK_MS,
    lostAfterMs: LOST_MS,
    onChange: (isLost) =>
      stream.tell({
        state: isLost ? 'reconnecting' : 'live',
        since: new Date().toISOString(),
        why: isLost ? sources.lastError || 'the API server does not answer' : null,
      }),
  });
  contact.start();
  return contact;
}

async function learnVersions(kube: KubeClient, stream: Stream): Promise<void> {
  const [kubernetes, kubevirt] = await Promise.all(
    [kubernetesOf(kube), kubevirtIn(kube)].map((asking) => asking.catch(() => null)),
  );
  stream.tell({
    versions: { drover: packageJson.version, kubernetes: kubernetes ?? null, kubevirt: kubevirt ?? null },
  });
}
