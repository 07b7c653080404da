import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { imageEnvironment, lastOf } from '../dockerfile.ts';

const listOf = (instruction: string): string => (JSON.parse(lastOf(instruction)) as string[]).join();
const flagsOf = (name: string, values: string[]): string => values.map((value) => `${name} '${value}'`).join(' ');

/**
 * A docker without a builder: it takes what is in an image from `layers`, an archive for each platform, and pushes it
 * as docker does, with what the Dockerfile says of it.
 */
const docker = (layers: string): string => `#!/bin/sh
set -e
# As docker does: if nobody read the password, its writer would end by SIGPIPE.
[ "$1" != login ] || cat > /dev/null
[ "$1 $2" = 'buildx build' ] || exit 0
while [ $# -gt 0 ]; do
  case $1 in --platform) platforms=$2 ;; --tag) tag=$2 ;; --metadata-file) about=$2 ;; esac
  shift
done
for platform in $(echo "$platforms" | tr , ' '); do
  one=$tag-\${platform#*/}
  crane append --oci-empty-base --new_layer ${layers}/\${platform#*/}.tar --new_tag "$one"
  crane mutate "$one" --tag "$one" --set-platform "$platform" --entrypoint '${listOf('ENTRYPOINT')}' \\
    --cmd '${listOf('CMD')}' --user ${lastOf('USER')} --workdir ${lastOf('WORKDIR')} \\
    ${flagsOf(
      '--env',
      Object.entries(imageEnvironment()).map((pair) => pair.join('=')),
    )}
  made="$made --manifest $one"
done
crane index append $made --tag "$tag"
echo "{\\"containerimage.digest\\":\\"$(crane digest "$tag")\\"}" > "$about"
`;

/** A cosign that asks no public log to note what it signs. */
const cosign = (program: string, without: string): string => `#!/bin/sh
command=$1
shift
case $command in sign | sign-blob) set -- --signing-config ${without}/services --trusted-root ${without}/root "$@" ;; esac
exec ${program} "$command" "$@"
`;

/** A gh that notes what it is asked for. */
const gh = (asked: string): string => `#!/bin/sh
for word; do echo "$word" >> ${asked}; done
`;

interface Needs {
  /** Of helm, crane and cosign. */
  programs: Record<'helm' | 'crane' | 'cosign', string>;
  layers: string;
  /** Settings of a cosign that knows no service. */
  without: string;
  /** File for what gh is asked for. */
  asked: string;
}

/** Writes the programs that a release is published by into a new folder. */
export function writeStandIns(folder: string, { programs, layers, without, asked }: Needs): void {
  mkdirSync(folder);
  for (const name of ['helm', 'crane'] as const) symlinkSync(programs[name], join(folder, name));
  const scripts = { docker: docker(layers), cosign: cosign(programs.cosign, without), gh: gh(asked) };
  for (const [name, script] of Object.entries(scripts)) writeFileSync(join(folder, name), script, { mode: 0o755 });
}
