// Waits in a box and runs call after call in one context, as a notebook does.
{
const fs = require('fs'), net = require('net'), util = require('util'), vm = require('vm');
const line = new net.Socket({ fd: 0 });
const write = (fd, text) => {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    try { at += fs.writeSync(fd, bytes, at); } catch (error) { if (error.code !== 'EAGAIN') throw error; }
  }
};
process.argv = [process.argv[0]];
globalThis.require = require;
let heard = Buffer.alloc(0), busy = false, interrupt = null, calls = 0;
const shown = (error) => {
  const lines = String(error && error.stack || util.inspect(error)).split('\n');
  const ours = lines.findIndex((text) => / at (Script\.runInThisContext|.*\[eval\]:)/.test(text));
  return lines.slice(0, ours < 0 ? lines.length : ours).join('\n');
};
const report = (error) => write(2, shown(error) + '\n');
const leave = (code) => { throw { isLeave: true, code: code === undefined ? process.exitCode : code }; };
process.exit = leave;
process.on('uncaughtException', (error) => { if (!error || !error.isLeave) report(error); });
process.on('unhandledRejection', report);
const run = async (source, wall) => {
  const script = new vm.Script(source, { filename: `call-${calls}.js` });
  let value = script.runInThisContext({ timeout: Math.max(1, wall), displayErrors: true });
  if (value && typeof value.then === 'function') {
    value = await Promise.race([value, new Promise((_, reject) => {
      interrupt = () => reject(new Error('interrupted: the time is up'));
    })]);
  }
  if (value !== undefined) write(1, util.inspect(value) + '\n');
};
const call = async (source, wall) => {
  let code = 0;
  calls += 1;
  process.exitCode = undefined;
  try { await run(source, wall); code = process.exitCode || 0; } catch (error) {
    if (error && error.isLeave) code = Number(error.code) & 255 || 0;
    else { code = 1; report(error); }
  }
  interrupt = null;
  busy = false;
  line.write(`E ${code} 0 0 0\nR\n`);
  next();
};
const next = () => {
  if (busy) {
    if (heard[0] === 73) { heard = heard.subarray(1); if (interrupt) interrupt(); }
    return;
  }
  while (heard[0] === 73) heard = heard.subarray(1);
  const end = heard.indexOf(10);
  if (end < 0) return;
  const [, wall, length] = heard.subarray(0, end).toString().split(' ').map(Number);
  if (heard.length < end + 1 + length) return;
  const source = heard.subarray(end + 1, end + 1 + length).toString();
  heard = heard.subarray(end + 1 + length);
  busy = true;
  call(source, wall);
};
line.on('data', (part) => { heard = Buffer.concat([heard, part]); next(); });
line.on('end', () => process.reallyExit(0));
line.write('R\n');
}
