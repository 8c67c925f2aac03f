// samples/own_device/app.h -- an application that draws by Vulkan without a window: its device, its
// buffers of particles, its pipeline and its pictures. Knows nothing of Gnomon.
#pragma once
#include <vulkan/vulkan.h>

#include <cstdint>
#include <string>
#include <vector>

namespace own_device {

/// A buffer whose memory the host sees.
struct Buffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  std::uint64_t bytes = 0;
  VkBufferUsageFlags usage = 0;
  void* mapped = nullptr;
};

class App {
 public:
  static constexpr std::uint32_t size = 512;  // pixels along an edge

  /// Throws std::runtime_error.
  explicit App(bool validate);
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// Destroyed with the App.
  Buffer buffer(std::uint64_t bytes, VkBufferUsageFlags usage);

  /// Begins the frame's command buffer.
  VkCommandBuffer begin();
  /// Draws points whose x, y, vx and vy are the four quarters of a buffer, each of `stride` bytes,
  /// and copies the picture to where the host sees it.
  void draw(VkCommandBuffer, VkBuffer particles, std::uint64_t stride, std::uint32_t count);
  /// Ends the frame and submits it; returns when the device is done.
  void finish(VkCommandBuffer);
  /// The picture of the last frame, four bytes for each pixel.
  const std::uint8_t* pixels() const { return static_cast<const std::uint8_t*>(picture_.mapped); }
  int messages() const { return messages_; }

  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  std::uint32_t family = 0;
  VkPhysicalDeviceFeatures2 features{};  // as they were enabled

 private:
  void make_instance(bool validate);
  void make_device();
  void make_target();
  void make_pipeline();

  int messages_ = 0;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  VkImage image_ = VK_NULL_HANDLE;
  VkDeviceMemory image_memory_ = VK_NULL_HANDLE;
  VkImageView view_ = VK_NULL_HANDLE;
  VkRenderPass pass_ = VK_NULL_HANDLE;
  VkFramebuffer framebuffer_ = VK_NULL_HANDLE;
  VkPipelineLayout layout_ = VK_NULL_HANDLE;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  Buffer picture_;
  std::vector<Buffer> buffers_;
};

/// Eight bits each of red, green and blue. Throws std::runtime_error.
void write_png(const std::string& path, const std::uint8_t* rgba, std::uint32_t size);

}  // namespace own_device
