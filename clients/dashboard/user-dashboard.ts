import { ApiServerContact } from '../../kubernetes/api-server-contact.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import { KubeConfigError } from '../../kubernetes/config.ts';
import { isTransient, KubeError } from '../../kubernetes/errors.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { Failure, sentenceOf } from '../cli/failure.ts';
import { usernameIn } from '../session/requester.ts';
import type { Session } from '../session/session.ts';
import { kubernetesOf, kubevirtIn } from '../version/versions.ts';
import { perform } from './actions/perform.ts';
import { readActionRequest } from './actions/read-request.ts';
import type { Session as SeenSession } from './contract/messages.ts';
import { Details } from './details/details.ts';
import { OperationDetails } from './details/operation-details.ts';
import { Fleet } from './fleet/fleet.ts';
import { READ_ONLY, Rights } from './fleet/rights.ts';
import { Sources } from './fleet/sources.ts';
import { missingWorkers } from './fleet/workers.ts';
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
const LOOK_AGAIN_MS = 60_000;
/** How often it is looked whether workers work: Temporal lists one that is gone for 75 s. */
const WORKERS_MS = 15_000;
const PROBE_MS = 1_000;
/** How long the API server may not answer before the page says so, in milliseconds: a slow one answers in less. */
const LOST_MS = 5_000;

/** Resolves once it can answer, which is before all is known. */
export async function openUserDashboard(session: Session, options: UserDashboardOptions): Promise<UserDashboard> {
  const kube = await session.kube();
  const { isReadOnly, namespace, streamMs } = options;
  const rights: Rights = new Rights(kube, { isReadOnly, onChange: () => fleet.lookAgain() });
  const fleet: Fleet = new Fleet({ whyNot: (what, where) => rights.whyNot(what, where), now: () => kube.clock.now() });
  const sources: Sources = new Sources(kube, fleet, {
    onChange: () => stream.updateSession({ unseen: sources.unseen, namespaces: sources.namespaces }),
    onRevoked: options.onRevoked,
  });
  const stream: Stream = new Stream(fleet, await seenSession(session, isReadOnly), streamMs);
  const details = new Details(session, fleet, rights);
  const operations = new OperationDetails(session);
  const lookAtWorkers = (): void =>
    void missingWorkers(session).then(
      (missing) => fleet.setWorkers(missing),
      () => {},
    );
  const elsewhere = options.elsewhere ?? [await session.namespace()];
  let timers: NodeJS.Timeout[] = [];
  let contact: ApiServerContact | undefined;
  return {
    answers: {
      read: {
        session: () => Promise.resolve(stream.session),
        vms: (segments) => details.vm(segments),
        owners: (segments) => details.owner(segments),
        nodes: (segments) => details.node(segments),
        logs: (segments) => operations.log(segments),
      },
      act: async (body) => {
        if (isReadOnly) throw new Failure(READ_ONLY);
        return perform(session, readActionRequest(body));
      },
      stream,
    },
    start: () => {
      stream.start();
      contact = followContact(stream, sources, kube);
      // Rights may be given and taken while nothing else changes.
      timers = [
        setInterval(() => fleet.tick(), LOOK_MS),
        setInterval(() => fleet.lookAgain(), LOOK_AGAIN_MS),
        setInterval(lookAtWorkers, WORKERS_MS),
      ];
      lookAtWorkers();
      void sources
        .start(namespace, elsewhere)
        .then(() => {
          stream.updateSession({ namespaces: sources.namespaces });
          stream.synced();
        })
        .catch((error: unknown) => stream.updateSession({ state: 'reconnecting', message: (error as Error).message }));
      void learnVersions(kube, stream);
    },
    close: async () => {
      timers.forEach(clearInterval);
      stream.stop();
      await Promise.all([contact?.stop(), sources.stop()]);
    },
  };
}

/** All times on the page are of the API server's clock, RFC 3339: a user's machine may be hours off. */
const timeOf = ({ clock }: KubeClient): string => new Date(clock.now()).toISOString();

async function seenSession(session: Session, isReadOnly: boolean): Promise<SeenSession> {
  const kube = await session.kube();
  return {
    type: 'session',
    user: (await usernameIn(() => Promise.resolve(kube))) ?? null,
    server: kube.server,
    state: 'live',
    since: timeOf(kube),
    message: null,
    namespaces: null,
    unseen: [],
    isReadOnly,
    versions: { drover: packageJson.version, kubernetes: null, kubevirt: null },
  };
}

/** Tells browsers when the API server does not answer, or not this user, and when it does again. */
function followContact(stream: Stream, sources: Sources, kube: KubeClient): ApiServerContact {
  let isLost = false;
  let rejection: string | null = null;
  const publish = (): void => {
    const answers = isLost ? 'reconnecting' : 'live';
    const state = rejection === null ? answers : 'refused';
    if (state === stream.session.state) return;
    const message = isLost ? sources.lastError || 'the API server does not answer' : null;
    stream.updateSession({ state, since: timeOf(kube), message: rejection ?? message });
  };
  const probe = async (): Promise<void> => {
    try {
      await kubernetesOf(kube);
      rejection = null;
    } catch (error) {
      // An exec plugin may have no credentials to give.
      const isRejected = error instanceof KubeConfigError || (error instanceof KubeError && error.status === 401);
      rejection = isRejected ? sentenceOf(error) : null;
      if (!isRejected && (!(error instanceof KubeError) || isTransient(error))) throw error;
    }
    publish();
  };
  const contact = new ApiServerContact({
    probe,
    behindMs: () => (rejection === null ? sources.behindMs : 0),
    everyMs: PROBE_MS,
    lostAfterMs: LOST_MS,
    onChange: (lost) => {
      isLost = lost;
      publish();
    },
  });
  contact.start();
  return contact;
}

async function learnVersions(kube: KubeClient, stream: Stream): Promise<void> {
  const [kubernetes, kubevirt] = await Promise.all(
    [kubernetesOf(kube), kubevirtIn(kube)].map((version) => version.catch(() => null)),
  );
  stream.updateSession({
    versions: { drover: packageJson.version, kubernetes: kubernetes ?? null, kubevirt: kubevirt ?? null },
  });
}
