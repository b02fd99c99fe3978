/* smpi_ring.c -- the ring all-reduce of bench_net as an MPI program for SimGrid's SMPI; a payload of
 * zero length would cost nothing, so each rank owns one chunk that is never touched.
 *
 *     smpicc -O2 -o smpi_ring smpi_ring.c
 *     smpirun -np 512 -platform star.xml -hostfile hosts --cfg=network/model:CM02 \
 *         --cfg=network/crosstraffic:0 --cfg=network/TCP-gamma:0 --cfg=smpi/simulate-computation:no \
 *         --cfg=smpi/bw-factor:1 --cfg=smpi/lat-factor:1 --cfg=smpi/os:0:0:0:0:0 \
 *         --cfg=smpi/or:0:0:0:0:0 --cfg=smpi/ois:0:0:0:0:0 --cfg=smpi/send-is-detached-thresh:0 \
 *         --cfg=smpi/async-small-thresh:0 ./smpi_ring 100000000
 *
 * Prints the virtual time; `longhaul platform export` writes the platform.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
  int n, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &n);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int chunk = (int)(atol(argv[1]) / n);
  char *out = SMPI_SHARED_MALLOC((size_t)chunk), *in = SMPI_SHARED_MALLOC((size_t)chunk);
  const int next = (rank + 1) % n, previous = (rank + n - 1) % n;
  const double begin_s = MPI_Wtime();
  for (int round = 0; round < 2 * (n - 1); round++) {
    MPI_Request request[2];
    MPI_Irecv(in, chunk, MPI_BYTE, previous, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(out, chunk, MPI_BYTE, next, 0, MPI_COMM_WORLD, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
  }
  if (rank == 0)
    printf("%.9f\n", MPI_Wtime() - begin_s);
  SMPI_SHARED_FREE(out);
  SMPI_SHARED_FREE(in);
  MPI_Finalize();
  return 0;
}
