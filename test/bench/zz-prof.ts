import { setTimeout as delay } from 'node:timers/promises';
import { writeFileSync } from 'node:fs';
import { declaredMonitors, monitorsFor, untilAllAreCheckedMs } from './declared-monitors.ts';
import { withService } from './running-service.ts';
const rate = Number(process.argv[2] ?? 2000);
const out = process.argv[3] ?? '/tmp/c3/look';
await withService((port) => ({ svc_http_monitor: declaredMonitors(monitorsFor(rate), port) }),
 { coordinatorFlags: ['--import', '/tmp/c3/look.mjs'], environment: { LOOK_OUT: out } } as never, async (service) => {
  await delay(untilAllAreCheckedMs(monitorsFor(rate)));
  const pid = service.system.coordinator.pid;
  const threads = () => process.getBuiltinModule('node:child_process').execFileSync('sh', ['-c', `for t in /proc/${pid}/task/*; do echo $(cat $t/comm | tr ' ' '_') $(basename $t) $(awk '{print $1/1000}' $t/schedstat); done`]).toString();
  for (const [mode, seconds] of [['gc', 20], ['cpu', 15], ['heap', 8], ['live', 10]] as const) {
    writeFileSync(out + '.mode', mode);
    process.kill(pid, 'SIGUSR2');
    const before = threads();
    await delay(seconds * 1000);
    const after = threads();
    process.kill(pid, 'SIGUSR2');
    const map = new Map(before.trim().split('\n').map((l) => [l.split(' ')[1], Number(l.split(' ')[2])]));
    let sum = 0;
    for (const l of after.trim().split('\n')) { const [c, t, v] = l.split(' '); const d = Number(v) - (map.get(t!) ?? 0); sum += d; if (d > 5000 * seconds) console.log(mode, c, (d / (rate * seconds)).toFixed(1), 'us/check'); }
    console.log(mode, 'sum', (sum / (rate * seconds)).toFixed(1));
    await delay(2000);
  }
});
