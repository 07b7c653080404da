import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.temporal.internal.testservice.GRPCServerHelper;
import io.temporal.internal.testservice.TestServicesStarter;
import java.net.InetSocketAddress;

/**
 * Temporal's test server at a port of the loopback address alone: its own main class listens to the whole network. It ends
 * with the process that has started it, even where that is killed; and at once where it is given no port, so that Java can
 * archive what it loads on its way up.
 */
public final class TimeSkippingServer {
  public static void main(String[] args) throws Exception {
    ProcessHandle.current().parent().ifPresent(parent -> parent.onExit().thenRun(() -> Runtime.getRuntime().halt(0)));
    // Time is skipped only while a client asks for it, and begins now.
    TestServicesStarter services = new TestServicesStarter(true, 0);
    NettyServerBuilder builder = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", args.length == 0 ? 0 : Integer.parseInt(args[0])));
    GRPCServerHelper.registerServicesAndHealthChecks(services.getServices(), builder);
    builder.build().start();
    if (args.length == 0) System.exit(0);
  }
}
