import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import type { RequestOptions } from 'node:https';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { KubeConfig, type Cluster, type Context, type User } from '@kubernetes/client-node';
import { whyUnreadable } from '../api/manifest/unreadable.ts';

export interface KubeConfigChoice {
  /**
   * Path of a kubeconfig file; by default `KUBECONFIG`, `~/.kube/config` or the pod's service account, as in kubectl.
   */
  kubeconfig?: string | undefined;
  context?: string | undefined;
}

/** Thrown if no cluster is configured; the message says what to provide. */
export class KubeConfigError extends Error {
  override readonly name = 'KubeConfigError';
}

const CURE = 'give another with --kubeconfig';

/** Throws `KubeConfigError` with the file's name and what is wrong with it. */
export function loadKubeConfig({ kubeconfig, context }: KubeConfigChoice = {}): KubeConfig {
  const files = kubeconfig === undefined ? filesByDefault() : [kubeconfig];
  const config = files.length === 0 ? podsOwn() : merged(files.map(readFile));
  const where = files.length === 0 ? "the pod's service account" : `kubeconfig ${files.join(', ')}`;
  if (context !== undefined) {
    if (config.getContextObject(context) === null) {
      throw new KubeConfigError(`--context ${context}: not in ${where}, which has ${contextsOf(config) || 'none'}`);
    }
    config.setCurrentContext(context);
  }
  checkCurrent(config, where);
  return config;
}

/**
 * Returns no files if kubectl would use its pod's service account. Of several files, skips missing ones, as kubectl
 * does.
 */
function filesByDefault(): string[] {
  const listed = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  const there = listed.filter((file) => existsSync(file));
  if (listed.length > 0) return there.length > 0 ? there : listed.slice(0, 1);
  const own = join(homedir(), '.kube', 'config');
  return existsSync(own) ? [own] : [];
}

function podsOwn(): KubeConfig {
  const config = new KubeConfig();
  config.loadFromDefault();
  return config;
}

function readFile(file: string): KubeConfig {
  const config = new KubeConfig();
  try {
    readFileSync(file);
  } catch (error) {
    throw new KubeConfigError(`kubeconfig ${file}: ${whyUnreadable(error)}; ${CURE}`, { cause: error });
  }
  try {
    // By name: the paths in the file are relative to its folder.
    config.loadFromFile(file);
  } catch (error) {
    throw new KubeConfigError(`${file} is not a valid kubeconfig: ${whyUnreadable(error)}; ${CURE}`, { cause: error });
  }
  const parts = [config.getClusters(), config.getContexts(), config.getUsers()];
  if (parts.every(({ length }) => length === 0)) {
    throw new KubeConfigError(`${file} is not a valid kubeconfig: it has no clusters, contexts or users; ${CURE}`);
  }
  return config;
}

/** The first file to define something wins, as in kubectl; client-node would use the last file's context. */
function merged([first, ...others]: KubeConfig[]): KubeConfig {
  if (others.length === 0) return first!;
  const all = [first!, ...others];
  const config = new KubeConfig();
  config.loadFromOptions({
    clusters: byName<Cluster>(all.flatMap((one) => one.getClusters())),
    users: byName<User>(all.flatMap((one) => one.getUsers())),
    contexts: byName<Context>(all.flatMap((one) => one.getContexts())),
    currentContext: all.map((one) => one.getCurrentContext()).find(Boolean),
  });
  return config;
}

const byName = <T extends { name: string }>(all: T[]): T[] =>
  all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index);

const contextsOf = (config: KubeConfig): string =>
  config
    .getContexts()
    .map(({ name }) => name)
    .join(', ');

/** Throws unless the current context leads to a cluster and to readable credentials. */
function checkCurrent(config: KubeConfig, where: string): void {
  const current = config.getCurrentContext();
  const context = config.getContextObject(current);
  const known = contextsOf(config);
  const fail = (message: string): never => {
    throw new KubeConfigError(`${where}${message}`);
  };
  if (!current) return fail(` has no current context; give --context with one that it has: ${known || 'it has none'}`);
  if (context === null) return fail(` has no context ${current}, which it calls current; it has ${known || 'none'}`);
  const cluster = config.getCluster(context.cluster);
  if (cluster === null) return fail(`: the cluster ${context.cluster} of context ${current} is not in it`);
  const user = config.getUser(context.user);
  if (context.user && user === null) return fail(`: the user ${context.user} of context ${current} is not in it`);
  for (const [field, url] of Object.entries({ server: cluster.server, 'proxy-url': cluster.proxyUrl })) {
    if (!url || (URL.canParse(url) && (field !== 'server' || /^https?:/i.test(url)))) continue;
    fail(`: ${field} of cluster ${cluster.name} is not a URL such as https://10.0.0.1:6443: ${url}`);
  }
  const ofUser = { 'client-certificate': user?.certFile, 'client-key': user?.keyFile };
  for (const [field, path] of Object.entries({ 'certificate-authority': cluster.caFile, ...ofUser })) {
    if (path) checkReadable(path, `${where}: ${field} ${path}`);
  }
}

function checkReadable(path: string, what: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (error) {
    throw new KubeConfigError(`${what}: ${whyUnreadable(error)}`, { cause: error });
  }
}

/** Runs what gives credentials, such as an exec plugin. Throws `KubeConfigError` if it does not. */
export async function credentialsIn(config: KubeConfig): Promise<RequestOptions> {
  const https: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(https);
    return https;
  } catch (error) {
    const [cluster, user] = [config.getCurrentCluster()?.name, config.getCurrentUser()?.name ?? 'none'];
    const message = (error as Error).message;
    throw new KubeConfigError(`cluster ${cluster} or user ${user} of the kubeconfig can't be used: ${message}`, {
      cause: error,
    });
  }
}
