// Which functions of a static program a run of it uses: steps through it, and prints the name and the size
// of each function when it is first met.
//
//   order SYMBOLS PROGRAM [ARGUMENT…]
//
// SYMBOLS is what `nm -nS --defined-only PROGRAM` prints. For x86-64, as ci/order calls it; some
// hundred thousand steps take a minute.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

struct function {
  unsigned long long start, size;
  char *name;
  int met;
};

static struct function *functions;
static size_t count;

static void read_functions(const char *path) {
  FILE *file = fopen(path, "r");
  char line[1 << 16], name[1 << 16], kind;
  unsigned long long start, size;
  if (!file) {
    perror(path);
    exit(1);
  }
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "%llx %llx %c %65535s", &start, &size, &kind, name) != 4 || !strchr("tTwW", kind)) continue;
    if (count % 4096 == 0) functions = realloc(functions, (count + 4096) * sizeof *functions);
    functions[count++] = (struct function){start, size, strdup(name), 0};
  }
  fclose(file);
}

// The function that an instruction is in: the last that begins at or before it.
static struct function *function_at(unsigned long long address) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (functions[middle].start <= address) low = middle + 1;
    else high = middle;
  }
  struct function *found = low ? &functions[low - 1] : NULL;
  return found && address < found->start + found->size ? found : NULL;
}

int main(int argc, char **argv) {
  if (argc < 3) return fprintf(stderr, "usage: order SYMBOLS PROGRAM [ARGUMENT...]\n"), 2;
  read_functions(argv[1]);
  pid_t traced = fork();
  if (traced == 0) {
    // What the program says is not what this prints.
    dup2(STDERR_FILENO, STDOUT_FILENO);
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    execv(argv[2], argv + 2);
    perror(argv[2]);
    _exit(127);
  }
  int status;
  while (waitpid(traced, &status, 0) == traced && WIFSTOPPED(status)) {
    struct user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, traced, NULL, &registers)) break;
    struct function *now = function_at(registers.rip);
    if (now && !now->met) {
      now->met = 1;
      printf("%s %llu\n", now->name, now->size);
    }
    long handed_on = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
    if (ptrace(PTRACE_SINGLESTEP, traced, NULL, (void *)handed_on)) break;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
