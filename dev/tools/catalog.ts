import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export type ToolName = 'temporal' | 'etcd' | 'kube-apiserver';

/** A server that the stack runs, and how to get it. */
export interface Tool {
  readonly name: ToolName;
  /** The version that is built or downloaded: that of the Go module, so that only go.mod decides it. */
  readonly version: string;
  /** The environment variable with its path. */
  readonly variable: string;
  /** Reads the version from what `<tool> --version` prints. */
  readonly versionPattern: RegExp;
  /** The oldest version accepted from PATH or a release. A newer major version isn't accepted. */
  readonly least: readonly [major: number, minor: number];
  /** The project whose release has it, and the release's version. */
  readonly published: { readonly project: 'temporal' | 'envtest'; readonly version: string };
  readonly build: {
    /** Folder of the go.mod that pins the version. */
    readonly module: string;
    readonly package: string;
    /** Packages of further programs, which the same build puts beside it. */
    readonly beside?: readonly string[];
    readonly ldflags: string;
    /** Build tags, separated by commas. */
    readonly tags?: string;
  };
}

/** A program that Go can build. */
export type Buildable = Pick<Tool, 'version' | 'variable' | 'build'> & { readonly name: string };

const moduleFolder = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Returns the version of a module that the go.mod in `folder` requires, without its `v`. Throws if there is none. */
export function versionIn(folder: string, module: string): string {
  const version = new RegExp(`^(?:require)?\\s*${module} v(\\S+)`, 'm').exec(
    readFileSync(`${folder}/go.mod`, 'utf8'),
  )?.[1];
  if (version === undefined) throw new Error(`${folder}/go.mod does not require ${module}`);
  return version;
}

export function catalog(): Record<ToolName, Tool> {
  const temporal = moduleFolder('temporal');
  const kubernetes = moduleFolder('kubernetes');
  const temporalVersion = versionIn(temporal, 'github.com/temporalio/cli');
  const kubernetesVersion = versionIn(kubernetes, 'k8s.io/kubernetes');
  const [major = '', minor = ''] = kubernetesVersion.split('.');
  const versionVariables = { gitVersion: `v${kubernetesVersion}`, gitMajor: major, gitMinor: minor };
  const versionFlags = Object.entries(versionVariables).map(
    ([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`,
  );
  return {
    temporal: {
      name: 'temporal',
      version: temporalVersion,
      variable: 'DROVER_TEMPORAL',
      versionPattern: /Server (\d+)\.(\d+)/,
      least: [1, 29],
      published: { project: 'temporal', version: temporalVersion },
      build: {
        module: temporal,
        package: 'github.com/temporalio/cli/cmd/temporal',
        ldflags: `-s -w -X github.com/temporalio/cli/temporalcli.Version=${temporalVersion}`,
      },
    },
    etcd: {
      name: 'etcd',
      version: versionIn(kubernetes, 'go.etcd.io/etcd/server/v3'),
      variable: 'DROVER_ETCD',
      versionPattern: /etcd Version: (\d+)\.(\d+)/,
      least: [3, 5],
      published: { project: 'envtest', version: kubernetesVersion },
      build: { module: kubernetes, package: 'go.etcd.io/etcd/server/v3', ldflags: '-s -w' },
    },
    'kube-apiserver': {
      name: 'kube-apiserver',
      version: kubernetesVersion,
      variable: 'DROVER_KUBE_APISERVER',
      versionPattern: /Kubernetes v(\d+)\.(\d+)/,
      least: [1, 33],
      published: { project: 'envtest', version: kubernetesVersion },
      build: {
        module: kubernetes,
        package: 'k8s.io/kubernetes/cmd/kube-apiserver',
        ldflags: ['-s -w', ...versionFlags].join(' '),
      },
    },
  };
}
