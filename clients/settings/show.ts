import { gatherSettings } from '../../workers/settings/gather.ts';
import { settingsInForce, type InForce } from '../../workers/settings/in-force.ts';
import { masked } from '../../workers/settings/masked.ts';
import { eachSetting, isOfDashboard, isOfWorker, type SettingName } from '../../workers/settings/settings.ts';
import { sentenceOf } from '../cli/failure.ts';
import type { Session } from '../session/session.ts';

interface Shown {
  setting: string;
  value: string | undefined;
  from: string;
}

/** Variables of others that drover heeds. */
const OTHERS = /^TEMPORAL_|^(HTTPS?|NO|ALL)_PROXY$/i;
/** What the names of variables with a secret in them say; files with secrets are told by their paths. */
const SECRET = /(KEY|TOKEN|SECRET|PASSWORD|HEADERS|_AUTH|_DATA|_META_\w+)$/i;

interface ShowOptions {
  /** The environment that the command was started in, without what its settings file says. */
  env: NodeJS.ProcessEnv;
  flags: ReadonlyMap<string, string>;
  isWorker: boolean;
}

/** Returns the settings in force and where each is from, of commands or of a worker that is started here. */
export async function shownSettings(session: Session, { env, flags, isWorker }: ShowOptions) {
  const gathered = gatherSettings({ env, flags, config: session.globals.config });
  // Nearly nobody serves the page behind a proxy.
  const isShown = (name: SettingName): boolean =>
    isOfDashboard(name) ? gathered.given.has(name) : isWorker || !isOfWorker(name);
  const own = settingsInForce(gathered, isShown);
  const items = await Promise.all(own.map(async (one) => (one.value === undefined ? found(session, one) : one)));
  const known = new Set(eachSetting().map(([, { variable }]) => variable));
  const others = Object.keys(env).filter((name) => OTHERS.test(name) && !known.has(name) && env[name] !== '');
  return {
    file: gathered.path,
    items: [
      ...items.map(({ value, ...one }): Shown => ({ ...one, value: value && masked(value) })),
      ...others
        .toSorted()
        .map((name): Shown => ({ setting: name, value: withoutSecrets(name, env[name]!), from: name })),
    ],
  };
}

/** Settings that are not given come from a running embedded stack, or from the profile of Temporal's tools. */
async function found(session: Session, { setting, ...rest }: InForce): Promise<InForce> {
  const stack = await session.stack().catch(() => undefined);
  const from = stack === undefined ? '' : `the embedded stack at ${stack.state}`;
  if (setting === 'kubeconfig' && stack !== undefined) return { setting, value: stack.kubeconfig, from };
  if (setting === 'temporal.ui' && stack?.temporalUi) return { setting, value: stack.temporalUi, from };
  if (setting !== 'temporal.address' && setting !== 'temporal.namespace') return { setting, ...rest };
  if (setting === 'temporal.address' && stack !== undefined) return { setting, value: stack.temporalAddress, from };
  if (stack === undefined) {
    const { loadClientConnectConfig } = await import('@temporalio/envconfig');
    try {
      const { connectionOptions, namespace } = loadClientConnectConfig();
      const ofProfile = setting === 'temporal.address' ? connectionOptions.address : namespace;
      if (ofProfile !== undefined) return { setting, value: ofProfile, from: "Temporal's profile" };
    } catch (error) {
      return { setting, value: undefined, from: `Temporal's configuration cannot be read: ${sentenceOf(error)}` };
    }
  }
  return { setting, value: setting === 'temporal.address' ? 'localhost:7233' : 'default', from: 'default' };
}

/** The address of a proxy may have a user and a password without a scheme before them. */
function withoutSecrets(name: string, value: string): string {
  if (SECRET.test(name)) return '(secret)';
  return masked(/PROXY$/i.test(name) ? value.replace(/^(\w+:\/\/)?\S*@/, '$1(secret)@') : value);
}
