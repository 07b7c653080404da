import { constants } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { followRenewals } from '../../../workers/connection/renewed-credentials.ts';
import { serveHealth } from '../../../workers/health/health.ts';
import { RepeatedProblem } from '../../../workers/health/repeated-problem.ts';
import { sentenceOf } from '../../cli/failure.ts';
import type { Globals } from '../../cli/globals.ts';
import { Session } from '../../session/session.ts';
import { readActionRequest } from '../actions/read-request.ts';
import { answering, type Answers } from '../server/answer.ts';
import { Assets } from '../server/assets.ts';
import { openUserDashboard } from '../user-dashboard.ts';
import { Connections } from './connections.ts';
import { readCredentials, type Credentials } from './credentials.ts';
import type { Identity } from './identity.ts';
import { log } from './log.ts';
import { proxiedMetrics } from './metrics.ts';
import type { ProxiedOptions } from './options.ts';
import { ProxyDoor } from './proxy-door.ts';
import { UserDashboards } from './user-dashboards.ts';

export interface ProxiedDashboard {
  port: number;
  healthPort: number | undefined;
  close: () => Promise<void>;
}

interface How extends ProxiedOptions {
  globals: Globals;
  isReadOnly: boolean;
  /** How long a browser's stream lasts before it must come through the proxy again, in milliseconds. */
  streamMs?: number;
  /** How long a user's fleet is kept that no browser of theirs looks at, in milliseconds. */
  lingerMs?: number;
  /** How often certificates are read again, in milliseconds. */
  renewedEveryMs?: number;
}

const STREAM_MS = 5 * 60_000;
/** Longer than proxies keep a connection that is idle (nginx: 60 s): the server must not be the first to end it. */
const KEEP_ALIVE_MS = 75_000;
/** Users may be in hundreds of groups, and proxies pass on the cookies of their sessions. */
const HEADER_BYTES = 65_536;
const MOST_CONNECTIONS = 1_000;
/** Other machines may still take this one for ready when it is to end. */
const LEAVE_MS = 2_000;

/** Serves the page on all addresses, over TLS, to a proxy with the right client certificate, for the users it names. */
export async function serveProxied(how: How): Promise<ProxiedDashboard> {
  const { globals, isReadOnly, streamMs = STREAM_MS, lingerMs, origins, names, headers, elsewhere } = how;
  const dashboards = new UserDashboards({
    sessionFor: ({ user, groups }: Identity) => new Session(globals, { impersonate: { user, groups } }),
    open: async (identity, session, onRevoked) => {
      const { answers, ...dashboard } = await openUserDashboard(session, {
        namespace: globals.namespace,
        isReadOnly,
        streamMs,
        onRevoked,
        ...(elsewhere === undefined ? {} : { elsewhere }),
      });
      return { ...dashboard, answers: { ...answers, act: logged(identity, answers.act) } };
    },
    most: how.mostUsers,
    ...(lingerMs === undefined ? {} : { lingerMs }),
  });
  const metrics = proxiedMetrics(globals.cluster, dashboards);
  const door = new ProxyDoor({
    origins,
    names,
    headers,
    answersFor: (identity) => dashboards.answersFor(identity),
    onRefusal: (refusal) => metrics.refused(refusal),
  });
  const credentials = readCredentials(how.files);
  const connections = new Connections();
  const answer = (await answering(new Assets()))(door);
  const options = { ...tlsOf(credentials), requestTimeout: 30_000, handshakeTimeout: 10_000 };
  const server = createServer(
    { ...options, keepAliveTimeout: KEEP_ALIVE_MS, maxHeaderSize: HEADER_BYTES },
    (request, response) => {
      connections.follow(request, response);
      if (isLeaving) response.setHeader('Connection', 'close');
      answer(request, response);
    },
  );
  let isLeaving = false;
  server.maxConnections = MOST_CONNECTIONS;
  server.on('connection', (socket) => connections.add(socket as Socket));
  const unready = (): string | undefined => (isLeaving ? 'it is about to end' : undefined);
  const health = { unready, metrics: metrics.text, config: () => how.settings };
  const probes = how.health && (await serveHealth(how.health, health));
  server.listen(how.port);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  log('info', 'dashboard ready', { port, origins, names, isReadOnly });
  if (names.length === 0) log('warn', 'every certificate of the authority is accepted, whatever its name');
  const stop = new AbortController();
  void renewed(server, { credentials, connections, how, signal: stop.signal });
  return {
    port,
    healthPort: probes && (probes.address() as AddressInfo).port,
    close: async () => {
      stop.abort();
      isLeaving = true;
      await leave(server, connections, dashboards);
      probes?.close();
      probes?.closeAllConnections();
    },
  };
}

/** Logs each action: its user, its object, and its outcome. */
function logged({ user, groups }: Identity, act: Answers['act']): Answers['act'] {
  return async (body) => {
    const { action, about, vms, reason } = readActionRequest(body);
    const logOutcome = (outcome: string): void =>
      log('info', 'asked', { user, groups, action, ...about, vms, reason, outcome });
    try {
      const done = await act(body);
      logOutcome('done');
      return done;
    } catch (error) {
      logOutcome(sentenceOf(error));
      throw error;
    }
  };
}

/** Sessions can't be resumed: TLS 1.3 takes a resumed session for authorized, even if it never had a certificate. */
const tlsOf = ({ ca, cert, key }: Credentials) => ({
  ca,
  cert,
  key,
  requestCert: true,
  // A peer without the right certificate is told why (401), instead of a broken connection.
  rejectUnauthorized: false,
  minVersion: 'TLSv1.2' as const,
  secureOptions: constants.SSL_OP_NO_TICKET,
});

/** Uses renewed files for all new connections, and ends the connections that were made with the old ones. */
async function renewed(
  server: Server,
  on: { credentials: Credentials; connections: Connections; how: How; signal: AbortSignal },
): Promise<void> {
  const { credentials, connections, how, signal } = on;
  const problem = new RepeatedProblem((message) =>
    log('warn', 'the renewed certificates cannot be used; the previous ones stay in use', { message }),
  );
  await followRenewals({
    signal,
    ...(how.renewedEveryMs === undefined ? {} : { everyMs: how.renewedEveryMs }),
    read: () => {
      try {
        return readCredentials(how.files);
      } catch (error) {
        problem.lasts(sentenceOf(error));
        throw error;
      }
    },
    used: credentials,
    adopt: (now) => {
      server.setSecureContext(tlsOf(now));
      connections.end();
      log('info', 'the renewed certificates are now used');
      return Promise.resolve('adopted' as const);
    },
  }).catch(() => {});
}

/** Ends streams at once, so that browsers come back to another server, and lets other answers through. */
async function leave(server: Server, connections: Connections, dashboards: UserDashboards): Promise<void> {
  const closed = Promise.withResolvers<void>();
  setTimeout(() => {
    server.close(() => closed.resolve());
    connections.end();
  }, LEAVE_MS);
  await dashboards.close();
  await closed.promise;
}
