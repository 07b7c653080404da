import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import type { RunningStack } from '../../dev/find-stack.ts';
import { hasSources } from '../../dev/paths.ts';
import type { KubeClient } from '../../kubernetes/client.ts';
import type { Impersonated } from '../../kubernetes/lib/impersonation.ts';
import { Failure } from '../cli/failure.ts';
import type { Globals } from '../cli/globals.ts';
import { plain, printNote } from '../cli/print.ts';
import type { Temporal } from './temporal.ts';

/**
 * The servers that a command talks to, found by its flags, the environment, or a running embedded stack.
 * Connects to each on first use: a command that only reads Kubernetes never loads Temporal's client.
 */
export class Session {
  readonly globals: Globals;
  #stack: Promise<RunningStack | undefined> | undefined;
  #kube: Promise<{ client: KubeClient; namespace: string }> | undefined;
  readonly #unanswered = new Set<Promise<unknown>>();
  #temporal: Promise<Temporal> | undefined;
  #said = false;
  readonly #impersonate: Impersonated | undefined;

  /**
   * `impersonate`: the user in whose name Kubernetes is asked, with the rights of that user alone. Temporal knows no
   * impersonation, so such a session has no Temporal.
   */
  constructor(globals: Globals, { impersonate }: { impersonate?: Impersonated } = {}) {
    this.globals = globals;
    this.#impersonate = impersonate;
  }

  get cluster(): string {
    return this.globals.cluster;
  }

  /** Returns the context of the kubeconfig; `undefined` for its current one. */
  get context(): string | undefined {
    const { context, kubeconfig, state } = this.globals;
    if (context !== undefined || kubeconfig !== undefined || state !== undefined) return context;
    return process.env['DROVER_CONTEXT'] || undefined;
  }

  async kube(): Promise<KubeClient> {
    this.#kube ??= this.#openKube();
    return (await this.#kube).client;
  }

  /** Returns the namespace of objects that name none. */
  async namespace(): Promise<string> {
    this.#kube ??= this.#openKube();
    return this.globals.namespace ?? (await this.#kube).namespace;
  }

  /** Connects to Temporal. Does not keep a failure: Temporal may be up at the next call. */
  async temporal(): Promise<Temporal> {
    if (this.#impersonate !== undefined) throw new Failure('Temporal is not asked in the name of another user');
    this.#temporal ??= this.#openTemporal();
    try {
      return await this.#temporal;
    } catch (error) {
      this.#temporal = undefined;
      throw error;
    }
  }

  /** Reports whether Temporal's address was given; otherwise the default address is a guess. */
  async knowsTemporal(): Promise<boolean> {
    return this.#impersonate === undefined && (this.#temporalGiven() || (await this.stack()) !== undefined);
  }

  /** Returns the address of Temporal's Web UI; `undefined` if unknown. */
  async temporalUi(): Promise<string | undefined> {
    if (this.#impersonate !== undefined) return undefined;
    const stack = this.#temporalGiven() ? undefined : await this.stack();
    return (process.env['TEMPORAL_UI'] || stack?.temporalUi || undefined)?.replace(/\/$/, '');
  }

  /** Returns an environment in which another process finds the same servers. */
  async environment(): Promise<NodeJS.ProcessEnv> {
    const kubeconfig = await this.#kubeconfig();
    const stack = await this.#temporalStack();
    const { environmentWithoutTemporal } = await import('../../dev/services/environment.ts');
    const { address = stack?.temporalAddress, temporalNamespace } = this.globals;
    return {
      ...(stack === undefined ? process.env : environmentWithoutTemporal(process.env)),
      ...(kubeconfig === undefined ? {} : { KUBECONFIG: kubeconfig }),
      ...(address === undefined ? {} : { TEMPORAL_ADDRESS: address }),
      ...(temporalNamespace === undefined ? {} : { TEMPORAL_NAMESPACE: temporalNamespace }),
    };
  }

  /** Returns the running embedded stack, unless flags or environment point elsewhere. */
  stack(): Promise<RunningStack | undefined> {
    this.#stack ??= this.#findStack();
    return this.#stack;
  }

  /** Keeps the connections open until the call has ended, even if its caller has given up on it. */
  async untilAnswered<T>(call: Promise<T>): Promise<T> {
    this.#unanswered.add(call);
    try {
      return await call;
    } finally {
      this.#unanswered.delete(call);
    }
  }

  async close(): Promise<void> {
    // Temporal's client retries a call by a timer, from which it throws if the connection is closed by then.
    await Promise.allSettled(this.#unanswered);
    const [kube, temporal] = await Promise.allSettled([this.#kube, this.#temporal]);
    if (kube.status === 'fulfilled') await kube.value?.client.close();
    if (temporal.status === 'fulfilled') await temporal.value?.connection.close();
  }

  /**
   * A flag counts for more than the environment, and so does --state. If --state is given, --context is a context of
   * the stack's kubeconfig.
   */
  #kubeGiven(): boolean {
    const { kubeconfig, state } = this.globals;
    return (
      kubeconfig !== undefined ||
      (state === undefined && (this.context !== undefined || Boolean(process.env['KUBECONFIG'])))
    );
  }

  #temporalGiven(): boolean {
    const { address, state } = this.globals;
    const variables = ['TEMPORAL_ADDRESS', 'TEMPORAL_PROFILE', 'TEMPORAL_CONFIG_FILE'];
    return address !== undefined || (state === undefined && variables.some((name) => Boolean(process.env[name])));
  }

  async #findStack(): Promise<RunningStack | undefined> {
    const { state } = this.globals;
    const { findStack } = await import('../../dev/find-stack.ts');
    const stack = findStack(state === undefined ? undefined : resolve(state));
    if (stack === undefined && state !== undefined) {
      throw new Failure(`no embedded stack runs in ${state}; \`drover dev --state ${state}\` starts one`);
    }
    if (stack === undefined && !this.#kubeGiven() && !this.#temporalGiven()) await this.#refuseUnready();
    // Only one of the two servers was given: the stack provides the other only if the given one is the stack's own.
    if (stack === undefined || state !== undefined || this.#kubeGiven() === this.#temporalGiven()) return stack;
    const { isKubeconfigOf, isTemporalOf } = await import('../../dev/find-stack.ts');
    const { kubeconfig = process.env['KUBECONFIG'], address = process.env['TEMPORAL_ADDRESS'] } = this.globals;
    return isKubeconfigOf(stack, kubeconfig) || isTemporalOf(stack, address) ? stack : undefined;
  }

  /**
   * Throws `Failure` while the stack starts or stops: otherwise the same command could reach another cluster a moment
   * later.
   */
  async #refuseUnready(): Promise<void> {
    const { unreadyStack } = await import('../../dev/find-stack.ts');
    const unready = unreadyStack();
    if (unready === undefined) return;
    const { state, phase } = unready;
    const what = phase === 'starting' ? 'not ready yet' : 'stopping';
    throw new Failure(
      `the embedded stack at ${state} is ${what}: wait until \`drover dev status\` says otherwise, or say which cluster is meant, with --kubeconfig`,
    );
  }

  /**
   * Throws `Failure` if Temporal was given, an embedded stack runs, and it is unclear whether the stack's cluster or
   * the user's is meant.
   */
  async #refuseUnclear(): Promise<void> {
    const { findStack } = await import('../../dev/find-stack.ts');
    const stack = findStack();
    if (stack === undefined || !this.#temporalGiven()) return;
    const address = this.globals.address ?? process.env['TEMPORAL_ADDRESS'] ?? 'of the environment';
    throw new Failure(
      `which cluster? An embedded stack runs at ${stack.state}, and Temporal ${address} is not its own: ` +
        `give --kubeconfig, or --state ${stack.state} for the stack's cluster`,
    );
  }

  #sayStack(stack: RunningStack): void {
    if (this.#said || this.globals.state !== undefined) return;
    this.#said = true;
    printNote(`using the embedded stack at ${stack.state}`);
  }

  /** Returns the path of the kubeconfig; `undefined` for kubectl's own default. */
  async #kubeconfig(): Promise<string | undefined> {
    if (this.#kubeGiven()) return this.globals.kubeconfig;
    const stack = await this.stack();
    if (stack !== undefined) {
      this.#sayStack(stack);
      return stack.kubeconfig;
    }
    await this.#refuseUnclear();
    if (existsSync(join(homedir(), '.kube', 'config')) || process.env['KUBERNETES_SERVICE_HOST']) return undefined;
    if (this.#temporalGiven())
      throw new Failure(
        'no cluster to talk to: give --kubeconfig or KUBECONFIG in addition to the address of Temporal',
      );
    throw new Failure(
      'no cluster to talk to: give --kubeconfig or KUBECONFIG' +
        (hasSources() ? ', or start the embedded stack with `drover dev`' : ''),
    );
  }

  async #openKube(): Promise<{ client: KubeClient; namespace: string }> {
    const kubeconfig = await this.#kubeconfig();
    const [{ loadKubeConfig }, { KubeClient }] = await Promise.all([
      import('../../kubernetes/config.ts'),
      import('../../kubernetes/client.ts'),
    ]);
    const config = loadKubeConfig({ kubeconfig, context: this.context });
    const namespace = config.getContextObject(config.getCurrentContext())?.namespace ?? 'default';
    const choice = { kubeconfig, context: config.getCurrentContext() };
    const impersonate = this.#impersonate;
    const warned = new Set<string>();
    const onWarning = (text: string): void => {
      if (!warned.has(text)) printNote(`Warning: ${plain(text)}`);
      warned.add(text);
    };
    return { client: KubeClient.of(choice, { userAgent: 'drover-cli', impersonate, onWarning }), namespace };
  }

  async #openTemporal(): Promise<Temporal> {
    const { address, temporalNamespace } = this.globals;
    const stack = await this.#temporalStack();
    const { connectTemporal } = await import('./temporal.ts');
    return connectTemporal({
      address: address ?? stack?.temporalAddress,
      namespace: temporalNamespace,
      configured: stack === undefined,
    });
  }

  async #temporalStack(): Promise<RunningStack | undefined> {
    const stack = this.#temporalGiven() ? undefined : await this.stack();
    if (stack !== undefined) this.#sayStack(stack);
    return stack;
  }
}

/** What a command does, with its flags, and its arguments one after the other. */
export type Work<Flags> = (session: Session, flags: Flags, ...args: string[]) => Promise<void>;

/** Runs a command's work with its session, and closes the session at the end, even after an error. */
export async function inSession(command: Command, work: (session: Session) => Promise<void>): Promise<void> {
  // Stopping at once leaves nothing half done: each write is one call to the API server.
  process.once('SIGINT', () => process.exit(130));
  const session = new Session(command.optsWithGlobals());
  try {
    await work(session);
  } finally {
    await session.close();
  }
}
